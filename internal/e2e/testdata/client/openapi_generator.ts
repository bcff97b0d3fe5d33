// A partner's program with a client that openapi-generator generated from the document.
import { readFileSync } from "fs";
import * as api from "./client";

declare const process: { env: Record<string, string> };

function configured(key: string): api.Configuration {
  return new api.Configuration({ basePath: process.env.SVC, accessToken: key });
}

/** A value without its empty parts. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (value instanceof Date) {
    return value.toISOString();
  }
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value).filter(([, v]) => v !== null && v !== undefined);
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, plain(v)]));
  }
  return value;
}

async function main(): Promise<void> {
  const feeds = new api.FeedsApi(configured(process.env.KEY));
  const reads = new api.ReadsApi(configured(process.env.KEY));
  const census = await feeds.sendCensus({
    censusShape: {
      rooms: [
        { roomId: 1, status: "occupied", primaryFactor: "labor-standard" },
        { roomId: 2, status: "empty" },
      ],
    },
  });
  console.log("census", census.data.applied, census.data.occupied, census.data.activated[0].factorId);
  await feeds.sendStaffing({ staffingShape: { nursesOnDuty: 3 } });
  const clinical = await feeds.sendClinical({
    clinicalShape: { roomId: 1, signals: [{ kind: "medication", system: "RxNorm", code: "6585" }] },
  });
  console.log("clinical", clinical.data.activated[0].factorId, clinical.data.activated[0].ratio);
  const message = "MSH|^~\\&|A|B|C|D|||ADT^A01|M1|P|2.5.1\rPV1|1|I|L&D^LDR 9||||||||||||||||VN1\r";
  const ack = await feeds.sendHL7({ hl7Shape: { message } });
  console.log("hl7", ack.data.ackCode, ack.data.controlId);
  const level = await reads.getLevel();
  const state = await reads.getUnitState();
  console.log("read", level.data.level === state.data.level, state.data.rooms.length, state.data.rooms[0].factors[0].id);
  try {
    await new api.ReadsApi(configured("svc_none")).getLevel();
  } catch (refused) {
    console.log("refused", (await (refused as api.ResponseError).response.json()).error.code);
  }

  // Each example answer of the document can be read without loss.
  const answers: Record<string, unknown> = JSON.parse(readFileSync("answers.json", "utf8"));
  const models = api as unknown as Record<string, (value: unknown) => unknown>;
  for (const [name, answer] of Object.entries(answers)) {
    const back = models[name + "ToJSON"](models[name + "FromJSON"](answer));
    if (JSON.stringify(plain(back)) !== JSON.stringify(plain(answer))) {
      throw new Error(name);
    }
  }
  console.log("answers", Object.keys(answers).length);
}

main();
