import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.rest.client.api.IGenericClient;
import ca.uhn.fhir.rest.client.interceptor.BearerTokenAuthInterceptor;
import ca.uhn.fhir.rest.server.exceptions.BaseServerResponseException;
import org.hl7.fhir.r4.model.Bundle;
import org.hl7.fhir.r4.model.CodeableConcept;
import org.hl7.fhir.r4.model.Coding;
import org.hl7.fhir.r4.model.Condition;
import org.hl7.fhir.r4.model.DateTimeType;
import org.hl7.fhir.r4.model.Encounter;
import org.hl7.fhir.r4.model.Observation;
import org.hl7.fhir.r4.model.OperationOutcome;
import org.hl7.fhir.r4.model.Reference;

/** An EHR that sends a visit with HAPI's default FHIR client, which requests the metadata first. */
public class FHIR {
    static final FhirContext context = FhirContext.forR4();

    public static void main(String[] args) {
        IGenericClient client = client(args[0], args[1]);
        show(client.transaction().withBundle(visit(Bundle.BundleType.TRANSACTION)).execute());

        Bundle bad = visit(Bundle.BundleType.BATCH);
        bad.addEntry().setResource(new Observation().setId("hapi-4")).getRequest().setMethod(Bundle.HTTPVerb.POST).setUrl("Observation");
        show(client.transaction().withBundle(bad).execute());

        refused("key", () -> client(args[0], "svc_none").transaction().withBundle(visit(Bundle.BundleType.TRANSACTION)).execute());
        refused("text", () -> client.transaction().withBundle("{\"resourceType\":\"Bundle\",\"type\":\"transaction\",\"entry\":[}").execute());
        refused("path", () -> client.create().resource(new Encounter()).execute());
    }

    static IGenericClient client(String base, String key) {
        IGenericClient client = context.newRestfulGenericClient(base);
        client.registerInterceptor(new BearerTokenAuthInterceptor(key));
        return client;
    }

    /** A visit with a condition that an EHR has just recorded. */
    static Bundle visit(Bundle.BundleType type) {
        Encounter encounter = new Encounter();
        encounter.setId("hapi-1");
        encounter.addIdentifier().setValue("VN-HAPI");
        encounter.setStatus(Encounter.EncounterStatus.INPROGRESS);
        encounter.setClass_(new Coding("http://terminology.hl7.org/CodeSystem/v3-ActCode", "IMP", null));
        encounter.getPeriod().setStartElement(DateTimeType.now());
        encounter.addLocation().setLocation(new Reference().setDisplay("LDR 4"));
        Condition condition = new Condition();
        condition.setId("hapi-2");
        condition.setEncounter(new Reference("Encounter/hapi-1"));
        condition.setSubject(new Reference("Patient/hapi-3"));
        condition.setCode(new CodeableConcept(new Coding("http://hl7.org/fhir/sid/icd-10-cm", "O14.13", null)));
        Bundle bundle = new Bundle().setType(type);
        bundle.addEntry().setResource(encounter).getRequest().setMethod(Bundle.HTTPVerb.PUT).setUrl("Encounter/hapi-1");
        bundle.addEntry().setResource(condition).getRequest().setMethod(Bundle.HTTPVerb.PUT).setUrl("Condition/hapi-2");
        return bundle;
    }

    static void show(Bundle answer) {
        StringBuilder line = new StringBuilder(answer.getType().toCode());
        for (Bundle.BundleEntryComponent entry : answer.getEntry()) {
            line.append(", ").append(entry.getResponse().getStatus()).append(issues(entry.getResponse().getOutcome()));
        }
        System.out.println(line);
    }

    static String issues(Object outcome) {
        StringBuilder text = new StringBuilder();
        if (outcome instanceof OperationOutcome) {
            for (OperationOutcome.OperationOutcomeIssueComponent issue : ((OperationOutcome) outcome).getIssue()) {
                text.append(' ').append(issue.getSeverity().toCode()).append(' ').append(issue.getCode().toCode()).append(' ').append(issue.getDetails().getText());
            }
        }
        return text.toString();
    }

    static void refused(String what, Runnable call) {
        try {
            call.run();
            System.out.println(what + ": not refused");
        } catch (BaseServerResponseException no) {
            System.out.println(what + ": " + no.getStatusCode() + issues(no.getOperationOutcome()));
        }
    }
}
