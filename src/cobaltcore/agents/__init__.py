"""Programs that run in pods and on nodes: entry points of the images, `cobalt-agent GROUP NAME`.

One folder per group, one module per agent. An image holds this folder's own modules and the groups
that its pods need, so an agent imports nothing else of the product: only the standard library, in
images of services also what the service's virtual environment has.
"""
