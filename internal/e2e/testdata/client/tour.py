"""A partner's program, on a client that was generated from the OpenAPI document."""
import os

from partner import AuthenticatedClient
from partner.api.feeds import send_census, send_clinical, send_hl7, send_staffing
from partner.api.reads import get_level, get_unit_state
from partner.models import (CensusRoomShape, CensusShape, ClinicalShape, Hl7Shape, SignalShape, StaffingShape)


def client(key):
    return AuthenticatedClient(base_url=os.environ["SVC"], token=key)


ours = client(os.environ["KEY"])
census = send_census.sync(client=ours, body=CensusShape.from_dict({"rooms": [
    {"roomId": 1, "status": "occupied", "primaryFactor": "labor-standard"}, {"roomId": 2, "status": "empty"}]}))
print("census", str(census.data.applied).lower(), census.data.occupied, census.data.activated[0].factor_id)
send_staffing.sync(client=ours, body=StaffingShape.from_dict({"nursesOnDuty": 3}))
clinical = send_clinical.sync(client=ours, body=ClinicalShape.from_dict({"roomId": 1, "signals": [
    {"kind": "medication", "system": "RxNorm", "code": "6585"}]}))
print("clinical", clinical.data.activated[0].factor_id, clinical.data.activated[0].ratio)
message = "MSH|^~\\&|A|B|C|D|||ADT^A01|M1|P|2.5.1\rPV1|1|I|L&D^LDR 9||||||||||||||||VN1\r"
ack = send_hl7.sync(client=ours, body=Hl7Shape(message=message))
print("hl7", ack.data.ack_code, ack.data.control_id)
level, state = get_level.sync(client=ours), get_unit_state.sync(client=ours)
print("read", str(level.data.level == state.data.level).lower(), len(state.data.rooms), state.data.rooms[0].factors[0].id)
print("refused", get_level.sync(client=client("svc_none")).error.code)
