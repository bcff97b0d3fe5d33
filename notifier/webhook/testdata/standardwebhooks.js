// Verifies our signatures with the official Standard Webhooks library for JavaScript. Each input line has
// secret,id,timestamp,signatures,body in base64; the output line is true or false.
const { Webhook } = require("standardwebhooks");
for (const line of require("node:fs").readFileSync(0, "utf8").trim().split("\n")) {
  const [secret, id, timestamp, signatures, body] = line.split(",").map((one) => Buffer.from(one, "base64").toString());
  const own = secret.startsWith("whsec_") ? {} : { format: "raw" };
  let good = true;
  try {
    new Webhook(secret, own).verify(body, { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures }, { jsonParse: false });
  } catch {
    good = false;
  }
  console.log(good);
}
