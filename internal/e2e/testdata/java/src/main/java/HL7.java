import ca.uhn.hl7v2.DefaultHapiContext;
import ca.uhn.hl7v2.HapiContext;
import ca.uhn.hl7v2.app.Connection;
import ca.uhn.hl7v2.model.Message;
import ca.uhn.hl7v2.model.v251.message.ADT_A01;
import ca.uhn.hl7v2.model.v251.segment.PV1;
import ca.uhn.hl7v2.util.Terser;
import java.util.Date;

/** An interface engine that sends with HAPI's HL7 v2 client and its default validation. */
public class HL7 {
    public static void main(String[] args) throws Exception {
        try (HapiContext context = new DefaultHapiContext()) {
            Connection connection = context.newClient(args[0], Integer.parseInt(args[1]), false);
            send(connection, admission("HAPI1"));
            send(connection, admission("HAPI1")); // repeated
            ADT_A01 nobody = admission("HAPI2");
            nobody.getPID().getPatientIdentifierList(0).clear();
            nobody.getPV1().getVisitNumber().clear();
            send(connection, nobody);
            ADT_A01 enhanced = admission("HAPI3");
            enhanced.getMSH().getAcceptAcknowledgmentType().setValue("AL");
            enhanced.getMSH().getApplicationAcknowledgmentType().setValue("NE");
            send(connection, enhanced);
            connection.close();
        }
    }

    static ADT_A01 admission(String id) throws Exception {
        ADT_A01 message = new ADT_A01();
        message.initQuickstart("ADT", "A01", "P");
        message.getMSH().getMessageControlID().setValue(id);
        message.getMSH().getSendingApplication().getNamespaceID().setValue("HAPI");
        message.getMSH().getDateTimeOfMessage().getTime().setValue(new Date());
        message.getEVN().getRecordedDateTime().getTime().setValue(new Date());
        message.getPID().getPatientIdentifierList(0).getIDNumber().setValue("MRN-HAPI");
        PV1 visit = message.getPV1();
        visit.getPatientClass().setValue("I");
        visit.getAssignedPatientLocation().getPointOfCare().setValue("L&D");
        visit.getAssignedPatientLocation().getRoom().setValue("LDR 7");
        visit.getVisitNumber().getIDNumber().setValue("VN-HL7");
        return message;
    }

    static void send(Connection connection, Message message) throws Exception {
        Message answer = connection.getInitiator().sendAndReceive(message);
        Terser says = new Terser(answer);
        String error = says.get("/ERR-3-1") == null ? "" : " " + says.get("/ERR-2-1") + "-" + says.get("/ERR-2-3") + " " + says.get("/ERR-3-1");
        System.out.println(answer.getName() + " " + answer.getVersion() + " " + says.get("/MSA-1") + " " + says.get("/MSA-2") + error);
    }
}
