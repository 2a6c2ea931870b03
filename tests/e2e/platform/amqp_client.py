"""Runs in a pod: writes to a durable queue or reads it; the password comes on stdin."""

import sys

import amqp  # type: ignore[import-untyped]

QUEUE = "kept"

host, vhost, username, action, *texts = sys.argv[1:]
password = sys.stdin.readline().rstrip("\n")
with amqp.Connection(
    host, userid=username, password=password, virtual_host=vhost, connect_timeout=10
) as connection:
    channel = connection.channel()
    channel.queue_declare(QUEUE, durable=True, auto_delete=False)
    if action == "publish":
        message = amqp.Message(texts[0], delivery_mode=2)
        channel.basic_publish_confirm(message, routing_key=QUEUE)
    found = channel.basic_get(QUEUE)
    sys.stdout.write(found.body if found else "")
