package rules

// spanish has the messages for [Warnings] and for refused bodies, by code, in the medical Spanish of US hospitals.
var spanish = map[string]string{
	"400": "El contenido está mal formado; envíelo en el formato que indica la documentación.",
	"413": "El contenido es demasiado grande; envíelo por partes.",
	"415": "No se acepta este Content-Type; envíe uno de los que indica la documentación.",
	"422": "El contenido está bien formado, pero no se puede aplicar; consulte la respuesta a la solicitud.",

	"AE 100": "No se encontró un segmento MSH utilizable; comience cada mensaje con MSH y sus delimitadores.",
	"AE 101": "Falta un campo obligatorio; envíe un identificador en MSH-10 y un número de visita en PV1-19 o de paciente en PID-3.",
	"AE 102": "Se superó un límite; envíe como máximo 1,000 mensajes por solicitud, 1,000 segmentos por mensaje y 64 KiB por campo.",
	"AE 207": "El hospital alcanzó un límite; vuelva a enviar el mensaje más tarde o consulte al operador del servicio.",
	"AR 200": "El mensaje no es ADT; envíe aquí solo mensajes ADT.",
	"AR 201": "MSH-9 no tiene evento; envíelo en el segundo componente, por ejemplo ADT^A01.",
	"AR 202": "MSH-11 no es P y esta clave solo acepta mensajes de producción; envíe P o use otra clave para las pruebas.",

	"account_shared": "Más de 50 visitas tienen este número de cuenta, así que no identifica una visita; " +
		"envíe el número de visita en PV1-19.",
	"action_unknown":  "DG1-21 no es A, U ni D, así que se agregó el diagnóstico; envíe uno de los tres o deje DG1-21 vacío.",
	"admit_cancelled": "El ingreso de este evento fue anulado, así que nada cambió; no hay que hacer nada.",
	"adt_extension":   "A06, A07 y A13 amplían el conjunto de eventos acordado; el evento se aplicó y no hay que hacer nada.",
	"after_birth": "La paciente ya dio a luz, así que este dato intraparto o fetal no se usó; " +
		"si falta otro bebé por nacer, envíe un diagnóstico como O30.009.",
	"already_discharged": "La visita ya tenía el alta, así que nada cambió; no hay que hacer nada.",
	"batch_count": "El número de BTS-1 o FTS-1 no coincide con los mensajes o lotes recibidos; " +
		"compruebe que no se perdió ninguno y reenvíe los que falten.",
	"bed_without_room": "La ubicación indica una cama sin habitación, así que no se asignó habitación a la paciente; " +
		"envíe la habitación en PV1-3.2 o agregue esta unidad y cama a la tabla de ubicaciones.",
	"cancel_too_late": "El evento es demasiado antiguo para anularlo; " +
		"si la ubicación de la paciente es incorrecta, envíe un A02 o un censo.",
	"cancel_waiting": "No se conoce el evento que se anula; la anulación se guarda 24 horas. Envíe el evento si no se envió.",
	"cancelled":      "Un mensaje anterior anuló el evento, así que nada cambió; no hay que hacer nada.",
	"census_newer": "Un censo más reciente no incluye la visita, así que la paciente no tiene habitación; si sigue en la unidad, envíe " +
		"un traslado (A02) con la hora actual.",
	"census_older": "Ya se aplicó un censo más reciente, así que este no cambió nada; revise asOf si este es el más reciente.",
	"charset_assumed": "No se declara un juego de caracteres y el texto no es UTF-8, así que se leyó como Windows-1252; " +
		"declárelo en MSH-18.",
	"charset_invalid": "El texto se declara como UTF-8 pero no lo es, así que se leyó como Windows-1252; " +
		"declare el correcto en MSH-18.",
	"charset_unknown": "No se conoce el juego de caracteres declarado; " +
		"declare en MSH-18 uno de la tabla 0211 de HL7, como UNICODE UTF-8.",
	"class_assumed": "La clase no es un código de v3-ActCode, así que la paciente se consideró ambulatoria; " +
		"envíe un código como IMP, EMER o AMB.",
	"code_missing":    "El recurso no tiene código; envíe al menos un coding con code.",
	"code_unreadable": "El código está vacío, supera 64 bytes o no está en su tabla, así que no se usó; envíe un código de la tabla.",
	"condition_not_supported": "No se admite la condición, así que el recurso no se usó; busque por un identificador del recurso " +
		"o envíe If-None-Match: *.",
	"contained_not_used": "No se usan Condition, Observation ni MedicationAdministration contenidas; envíelas como recursos independientes.",
	"delete_by_search":   "No se puede borrar por búsqueda, así que no se borró nada; borre por el id del recurso.",
	"delete_ignored": "No se borra un Medication, Location o Patient, porque otros recursos pueden referirse a él; " +
		"envíe su contenido actual con PUT.",
	"discharge_waiting": "No se conoce el ingreso de esta alta, así que aún no tiene efecto; " +
		"revise el número de visita o envíe el ingreso.",
	"duplicate":        "El evento ya se había recibido, así que nada cambió; no hay que hacer nada.",
	"duplicate_field":  "El objeto tiene este campo más de una vez; envíelo una sola vez.",
	"element_unknown":  "FHIR R4 no tiene este elemento aquí, así que no se usó; revise cómo está escrito y la versión de FHIR.",
	"encoding_escaped": `El mensaje viene escapado para HTML o XML; envíelo sin escapar, con MSH-2 como ^~\& y no ^~\&amp;.`,
	"encoding_invalid": `MSH-1 o MSH-2 tiene un carácter que no sirve de delimitador; ` +
		`envíe signos, por lo general | en MSH-1 y ^~\& en MSH-2.`,
	"encoding_long": `MSH-2 tiene más de cinco caracteres; envíe de tres a cinco caracteres distintos, por lo general ^~\&.`,
	"encoding_repeated": `MSH-2 repite un carácter o el de MSH-1; envíe de tres a cinco caracteres distintos, por lo general ^~\& ` +
		`(en JSON, "^~\\&").`,
	"encoding_short": `MSH-2 tiene menos de tres caracteres; envíe de tres a cinco caracteres distintos, por lo general ^~\&.`,
	"end_not_used": "Según su estado, el recurso no ha terminado, así que no se usó su fin; si terminó, envíe un estado como finished, " +
		"completed o resolved.",
	"escape_unknown": `Una secuencia de escape no se conoce o no termina y se conservó como texto; envíe la barra invertida como \E\.`,
	"event_id_reused": "El identificador del evento ya se usó con otro contenido, así que el evento no se aplicó; " +
		"dé a cada evento su propio identificador.",
	"event_ignored": "Este evento no se usa; no hay que hacer nada y no es necesario enviarlo.",
	"event_time_missing": "El evento no tiene una hora utilizable, así que se usó la del mensaje, la versión o la recepción; " +
		"envíe la hora del evento.",
	"event_too_old": "El evento es anterior al historial que se conserva, así que no se aplicó; " +
		"si la ubicación de la paciente es incorrecta, envíe un A02 o un censo.",
	"exists": "El recurso debía crearse solo si no existía, pero existe, así que nada cambió; " +
		"para actualizarlo, envíelo sin la condición.",
	"facility_differs": "Otro centro tiene una habitación con este nombre y svc no distingue centros, así que ambas cuentan como una; " +
		"envíe una unidad distinta por centro o use un hospital por centro.",
	"fetus_unreadable": "No se entendió la etiqueta del feto, así que la señal no identifica a ninguno; " +
		"envíe una etiqueta como A o 2, o gemelo B.",
	"field_not_used": "El campo no tiene efecto en este evento, ubicación o estado de la habitación; envíelo solo donde corresponda.",
	"if_match_ignored": "If-Match no se evalúa, así que el recurso se usó sin comprobar su versión; " +
		"envíe meta.lastUpdated o meta.versionId.",
	"line_continued": `La línea no comienza con el nombre de un segmento y se leyó como continuación del campo anterior; ` +
		`si es un segmento, comience con su nombre; si no, envíe el salto de línea como \.br\.`,
	"line_ignored": "La línea no comienza con el nombre de un segmento y no se usó; " +
		"si es un segmento, comience con su nombre y el separador.",
	"list_cut": "La lista supera el límite, así que solo se usaron los primeros elementos; envíe primero los más importantes.",
	"location_cut": "Una parte de la ubicación supera 80 bytes y se recortó; " +
		"envíe el nombre corto de la unidad, habitación o cama.",
	"location_missing": "El traslado no tiene ubicación, así que la paciente no se trasladó; envíe la nueva ubicación en PV1-3.",
	"location_not_used": "Un Encounter planeado o de clase PRENC no asigna habitación, así que su ubicación no se usó; " +
		"cuando la paciente llegue, envíe el estado in-progress y la clase de la visita, como IMP.",
	"location_without_room": "La ubicación indica una unidad sin habitación, así que no se asignó habitación a la paciente; " +
		"envíe la habitación en PV1-3.2 o asígnela en la tabla de ubicaciones.",
	"merge_ignored": "No se admiten fusiones ni cambios de número; " +
		"dé de alta la visita anterior con un A03 o envíe un censo sin ella.",
	"method_not_supported": "No se admite el método, así que la entrada no se usó; envíe el recurso completo con POST o PUT, " +
		"o bórrelo por id con DELETE.",
	"modifier_extension": "El recurso tiene implicitRules, o bien el recurso, su entrada o un elemento que svc lee contiene una " +
		"modifierExtension. Cualquiera de los dos puede cambiar su sentido; envíe el recurso sin ellos o no lo envíe.",
	"more_not_listed": "La respuesta solo muestra un número limitado de avisos y omite los demás; " +
		"corrija los que aparecen y vuelva a enviar la solicitud.",
	"not_in_worklist": "El código no está en la lista de trabajo, así que no se marcó; vuelva a leer la lista.",
	"not_production": "MSH-11 no es P, pero el mensaje se aplicó; " +
		"envíe las pruebas a otro hospital o active productionOnly en esta clave.",
	"not_used": "Ningún otro recurso de la solicitud se refiere a este, " +
		"así que se guardó para más adelante; haga referencia a él u omítalo.",
	"nurse_twice": "La lista de turno repite a la enfermera, así que se contó una vez; " +
		"incluya a cada enfermera una vez.",
	"operation_not_supported": "No se admiten operaciones ni búsquedas, así que la entrada no se usó; " +
		"envíe los recursos con POST o PUT.",
	"outside_unit": "La ubicación está fuera de la unidad, así que no se asignó a la paciente ninguna de sus habitaciones; " +
		"si pertenece a la unidad, agréguela a la tabla de ubicaciones.",
	"part_of_cycle": "La cadena partOf del Encounter vuelve al mismo Encounter, así que partOf no se usó; corrija partOf.",
	"part_of_limit": "Más de 50 Encounters son partOf del mismo, así que no se unió ninguno; revise partOf.",
	"part_of_other_patient": "El Encounter de partOf es de otra paciente y este no es de un recién nacido, " +
		"así que partOf no se usó; " +
		"corrija subject o partOf.",
	"part_of_unknown_patient": "No se conoce a la paciente del Encounter de partOf, así que no se unieron; " +
		"envíe el Patient con su número de historia clínica.",
	"patient_left": "La paciente que estaba entonces en la habitación ya fue dada de alta, así que este dato no cambió nada; " +
		"revise su hora y su habitación. Si se registró tarde, no hay que hacer nada.",
	"place_differs": "La actualización indica otra ubicación, pero no traslada a la paciente; para un traslado, envíe un A02.",
	"preadmission": "Un A01 de clase P anuncia a una paciente que aún no ha llegado, así que no se le asignó habitación; cuando llegue, " +
		"envíe un A01 con su clase, por ejemplo I.",
	"prior_place_differs": "PV1-6 no coincide con la ubicación conocida de la visita; compruebe que no se perdió un traslado.",
	"reference_unresolved": "El Medication o Location no está en la solicitud, así que se usó su último contenido; " +
		"inclúyalo si es nuevo.",
	"reference_unusable": "La referencia no se puede resolver o apunta a otro tipo de recurso; " +
		"envíe Type/id, urn:uuid:, #id o un identificador.",
	"reference_waiting": "Aún no se conoce la visita o la paciente; el dato se guarda 24 horas. Envíe el ingreso.",
	"request_reused": "La Idempotency-Key ya se usó con otro contenido, así que este no se aplicó; " +
		"vuelva a enviarlo con una clave propia.",
	"required": "Falta el elemento; envíelo.",
	"room_by_number": "Solo el número identificó la habitación, porque no se conoce la unidad; si es otra unidad, márquela como externa en " +
		"la tabla de ubicaciones; si no, agregue una fila con la unidad.",
	"room_label_differs": "La habitación ya tiene otro nombre, que solo un censo o un administrador puede cambiar, así que este no se usó; " +
		"corrija uno de los dos.",
	"room_not_occupied": "No se conoce ninguna paciente en la habitación; revise el número de habitación o envíe el ingreso.",
	"room_twice":        "El censo repite la habitación, así que solo se usó la primera fila; incluya cada habitación una vez.",
	"roster_older": "Ya se aplicó una lista de turno más reciente, así que esta no cambió nada; " +
		"revise asOf si esta es la más reciente.",
	"same_room":        "La visita ya está en la habitación, así que nada cambió; no hay que hacer nada.",
	"segment_repeated": "El segmento aparece más de una vez, así que solo se usó el primero; envíelo una vez por mensaje.",
	"segments_joined": `Los segmentos están en una sola línea; termine cada uno con un retorno de carro (byte 0x0D), ` +
		`no con los dos caracteres \r.`,
	"several_open_visits": "La paciente tiene varias visitas abiertas y el mensaje no identifica ninguna, así que no se aplicó; " +
		"envíe el número de visita.",
	"staffing_not_past": "Este registro de personal empieza después de la última hora completa, así que aún no cambió ninguna hora; " +
		"envíe el número actual de enfermeras a /api/ingest/staffing.",
	"staffing_of_live_hours": "Todas las horas de este registro de personal se observaron en vivo y no se evalúan de nuevo, " +
		"así que no cambió nada; envíe los cambios de personal a /api/ingest/staffing cuando ocurran.",
	"staffing_older": "Ya se aplicó un registro de personal más reciente, así que este no cambió nada; " +
		"revise asOf si este es el más reciente.",
	"staffing_too_old": "Este registro de personal empieza hace más de 28 días, así que no se usó; " +
		"indique un asOf de los últimos 28 días.",
	"statement_older": "Ya se conoce un dato más reciente del mismo tipo, así que este no cambió nada; revise su hora si es el más reciente.",
	"status_not_used": "Un recurso con este estado aún no aporta datos; envíelo de nuevo cuando cambie su estado.",
	"status_unknown":  "No se admite este estado; envíe uno de los que indica la documentación.",
	"subject_differs": "El subject no es la paciente del encounter, así que el dato se aplicó a la paciente del encounter; " +
		"corrija subject o encounter.",
	"superseded":   "Otra entrada de la solicitud tiene una versión más reciente del recurso; no hay que hacer nada.",
	"swap_ignored": "El intercambio A17 no tiene efecto; envíe un A02 por cada una de las dos pacientes.",
	"system_assumed": "El código no tiene sistema o es ambiguo, así que se dedujo del código; " +
		"envíe el sistema, por ejemplo I10 para ICD-10-CM.",
	"time_in_future": "La hora está más de cinco minutos en el futuro (una fecha de contratación, más de un día), " +
		"así que se usó la de recepción; revise el reloj y la zona horaria del emisor.",
	"time_unreadable": "La hora no se puede leer, así que se consideró ausente; " +
		"envíela en el formato de HL7 o FHIR, con la diferencia respecto a UTC.",
	"too_many_events": "El hospital alcanzó su límite de eventos ADT; dé de alta las visitas que terminaron.",
	"too_many_nurses": "La lista de turno tiene más de 500 enfermeras, así que las demás no se usaron; " +
		"envíe como máximo 500.",
	"too_many_plans":      "Hay más de 48 planes de personal, así que este no se usó; envíelo más cerca de su comienzo.",
	"too_many_references": "El hospital alcanzó su límite de visitas y pacientes sin ingreso; envíe antes sus ingresos.",
	"too_many_rooms": "El hospital alcanzó su límite de habitaciones; " +
		"envíe un censo solo con las habitaciones de la unidad.",
	"too_many_staffings": "Se enviaron más de 1,000 registros de personal de los últimos 28 días, así que se descartaron los más antiguos; " +
		"envíe solo los cambios del número de enfermeras.",
	"too_many_statements":        "El hospital alcanzó su límite de datos clínicos; dé de alta las visitas que terminaron.",
	"too_many_visits":            "El hospital alcanzó su límite de visitas; dé de alta las visitas que terminaron.",
	"too_many_visits_of_patient": "La paciente alcanzó el límite de visitas por paciente; dé de alta las visitas que terminaron.",
	"transfer_after_discharge": "La visita tenía el alta antes del traslado, así que la paciente no se trasladó; " +
		"si el alta fue un error, anúlela con un A13.",
	"type":           "El elemento tiene un tipo JSON incorrecto; envíe el tipo que define FHIR R4.",
	"type_not_used":  "Los recursos de este tipo no se usan; no hay que hacer nada y no es necesario enviarlos.",
	"unchanged":      "La solicitud solo contiene valores que ya estaban definidos, así que nada cambió; no hay que hacer nada.",
	"unit":           "La unidad de medida no se admite con este código, así que el valor no se usó; envíelo en la unidad esperada.",
	"unit_missing":   "El valor no tiene unidad de medida, así que se supuso la habitual; envíe la unidad en UCUM.",
	"unknown_field":  "No se conoce el campo y no se usó; revise cómo está escrito u omítalo.",
	"update_waiting": "No se conoce el ingreso de esta actualización, así que aún no tiene efecto; envíe el ingreso.",
	"url_differs": "El tipo o el identificador de la URL difiere del que tiene el recurso, que fue el que se usó; " +
		"envíe los mismos en ambos.",
	"value_unreadable": "El valor no se puede leer, así que no se usó; envíe un número o una de las palabras que admite el código.",
	"version_older":    "Ya se aplicó una versión más reciente del recurso, así que nada cambió; no hay que hacer nada.",
	"visit_by_patient": "Falta el número de visita, así que el mensaje se aplicó a la única visita abierta de la paciente; " +
		"envíe el número de visita en PV1-19.",
	"visit_twice": "El censo incluye la visita en dos habitaciones, así que la segunda fila cuenta como una paciente sin visita; " +
		"incluya cada visita una vez.",
	"visit_unknown": "El evento no corresponde a ninguna visita o paciente conocida, así que no se aplicó; envíe el número de visita.",
}

// SpanishMessage returns the Spanish version of [Message] for the code of a warning or refusal, or for the status with
// which a body was refused. It returns "" for any other code.
func SpanishMessage(code string) string { return spanish[code] }
