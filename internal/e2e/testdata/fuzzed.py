"""What the fuzzer of TestSchemathesis must know beside the document."""
import json
import os

import schemathesis

schemathesis.serializer.alias("application/hl7-v2", "text/plain")

succeeded = {}


@schemathesis.hook
def after_call(context, case, response):
    """Counts which operations have succeeded: the test wants all of them."""
    if 200 <= response.status_code < 300:
        name = f"{case.method.upper()} {case.path}"
        succeeded[name] = succeeded.get(name, 0) + 1
        with open(os.environ["COUNTS"], "w") as file:
            json.dump(succeeded, file)
