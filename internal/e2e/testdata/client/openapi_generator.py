"""A partner's program, on a client that openapi-generator made of the document."""
import datetime
import json
import os

import partner


def client(key):
    return partner.ApiClient(partner.Configuration(host=os.environ["SVC"], access_token=key))


feeds, reads = (api(client(os.environ["KEY"])) for api in (partner.FeedsApi, partner.ReadsApi))
census = feeds.send_census(partner.CensusShape.from_dict({"rooms": [
    {"roomId": 1, "status": "occupied", "primaryFactor": "labor-standard"}, {"roomId": 2, "status": "empty"}]}))
print("census", str(census.data.applied).lower(), census.data.occupied, census.data.activated[0].factor_id)
feeds.send_staffing(partner.StaffingShape(nurses_on_duty=3))
clinical = feeds.send_clinical(partner.ClinicalShape.from_dict({"roomId": 1, "signals": [
    {"kind": "medication", "system": "RxNorm", "code": "6585"}]}))
print("clinical", clinical.data.activated[0].factor_id, clinical.data.activated[0].ratio)
message = "MSH|^~\\&|A|B|C|D|||ADT^A01|M1|P|2.5.1\rPV1|1|I|L&D^LDR 9||||||||||||||||VN1\r"
ack = feeds.send_hl7(partner.Hl7Shape(message=message))
print("hl7", ack.data.ack_code, ack.data.control_id)
level, state = reads.get_level(), reads.get_unit_state()
print("read", str(level.data.level == state.data.level).lower(), len(state.data.rooms), state.data.rooms[0].factors[0].id)
try:
    partner.ReadsApi(client("svc_none")).get_level()
except partner.ApiException as refused:
    print("refused", json.loads(refused.body)["error"]["code"])


def plain(value):
    """A value without what says nothing, and with instants in one form."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str):
        try:
            return datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).isoformat()
        except ValueError:
            pass
    return value


# Each example answer of the document can be read without loss.
with open("answers.json") as file:
    answers = json.load(file)
for name, answer in answers.items():
    back = json.loads(getattr(partner, name).from_json(json.dumps(answer)).to_json())
    assert plain(back) == plain(answer), name
print("answers", len(answers))
