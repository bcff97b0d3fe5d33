package config

import (
	"time"
)

// everywhere is the need of an option that all commands have.
const everywhere Need = 0

// options returns all options of the server roles, in the order of --help and of
// docs/configuration.md. Their values are set on c.
func (c *Config) options() []*option {
	return []*option{
		row("listen", NeedHTTP, "127.0.0.1:8080", address(&c.Listen), "address of the public HTTP server"),
		row("private-listen", NeedTopics, "127.0.0.1:9090", address(&c.PrivateListen),
			"address of /metrics, /debug/pprof, /healthz and /readyz; keep it off the internet"),
		row("kafka", everywhere, "127.0.0.1:9092", c.setBrokers, "Kafka bootstrap servers, host:port separated by commas"),
		row("kafka-tls", everywhere, "false", boolean(&c.KafkaTLS), "speak TLS to Kafka"),
		row("kafka-tls-ca", everywhere, "", file(&c.KafkaTLSCA),
			"PEM file of the authorities that signed the brokers' certificates (default: those of the system)"),
		row("kafka-tls-cert", everywhere, "", file(&c.KafkaTLSCert), "PEM file of the client certificate"),
		row("kafka-tls-key", everywhere, "", file(&c.KafkaTLSKey), "PEM file of the client certificate's key"),
		row("kafka-sasl", everywhere, "", oneOf(&c.KafkaSASL, "", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
			"SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default: none)"),
		row("kafka-sasl-user", everywhere, "", text(&c.KafkaUser), "SASL user"),
		secret(row("kafka-sasl-password", everywhere, "", text(&c.KafkaPassword), "SASL password")),
		row("schema-registry", everywhere, "", c.setRegistry,
			"URL of a schema registry that all schemas are registered at, and whose ids are written; the same for all processes of an "+
				"installation (default: none, the ids of the build)"),
		row("schema-registry-user", everywhere, "", text(&c.Registry.User), "user at the schema registry (default: no login)"),
		secret(row("schema-registry-password", everywhere, "", text(&c.Registry.Password), "its password")),
		row("schema-registry-ca", everywhere, "", file(&c.Registry.CAFile),
			"PEM file of the authorities that signed the registry's certificate (default: those of the system)"),
		row("topic-prefix", everywhere, "", text(&c.TopicPrefix), "put before every topic name, for tests on a shared cluster"),
		row("partitions", NeedTopics, "48", count(&c.Partitions, 1, 10_000),
			"partitions of the observations and verdicts topics when they are created"),
		row("replication-factor", everywhere, "0", count(&c.Replicas, 0, 100),
			"replicas of the topics when they are created, for which as many brokers are waited for; existing topics must have as many "+
				"(default 0: 3, or as many as there are brokers)"),
		row("commit-every", NeedProcess, "10ms", duration(&c.CommitEvery, 0, time.Second),
			"gather the inputs that arrive within this time of the last commit; 0 where the brokers have "+
				"add.partitions.to.txn.retry.backoff.ms=1"),
		secret(row("redis", NeedRedis, "redis://127.0.0.1:6379/0", c.setRedis,
			"Redis as redis://user:password@host:port/db, or rediss:// for TLS")),
		row("redis-ca", NeedRedis, "", file(&c.RedisCA),
			"PEM file of the authorities that signed the Redis server's certificate (default: those of the system)"),
		filled(secret(row("pseudonym-key", NeedIngest|NeedPseudonyms, "", c.setPseudonymKey,
			"key of the pseudonyms of patients, visits and events, at least 32 characters, at random; how to change it is in "+
				"keys.md"))),
		secret(row("pseudonym-key-old", NeedIngest|NeedPseudonyms, "", olderKeys(&c.PseudonymsOld),
			"earlier keys, one a line, while the key is changed; how is in keys.md")),
		filled(secret(row("secrets-key", NeedIngest|NeedNotify|NeedSecrets|NeedPages, "", c.setSecretsKey,
			"key that seals signing secrets, telephone numbers and addresses of webhooks and alerts, and the sessions of the pages, at "+
				"least 32 characters, at random; without it none can be set, and nobody can sign in"))),
		secret(row("secrets-key-old", NeedIngest|NeedNotify|NeedSecrets|NeedPages, "", olderKeys(&c.SecretsKeyOld),
			"earlier keys, one a line, that still open what they sealed; how to change the key is in keys.md")),
		row("egress-allow", NeedIngest|NeedNotify, "", c.setEgressAllow,
			"private networks that endpoints of a hospital may lie in, as HOSPITAL=NETWORK[:PORT[+PORT]], separated by commas (default: "+
				"public addresses only, ports 443 and 8443)"),
		row("egress-ca-file", NeedNotify, "", c.setEgressRoots,
			"PEM file of authorities that may have signed the certificates of endpoints, beside those of the system"),
		row("public-url", NeedNotify|NeedHTTP|NeedLinks, "", c.setPublicURL,
			"address at which people and providers of SMS reach this service, for the links in alerts; without it there are none"),
		row("ingest-url", NeedPages, "", c.setIngestURL,
			"address of svc ingest, to which svc read forwards writes, so that one address serves the whole API (default: none, "+
				"writes are not served and pages are read-only)"),
		row("oidc-issuer", NeedPages, "", c.setOIDCIssuer,
			"OpenID Connect provider by which people sign in to the pages (default: none, by links alone)"),
		row("oidc-client-id", NeedPages, "", text(&c.OIDC.ClientID),
			"name of this service there; /oidc/callback under --public-url is where it leads back"),
		secret(row("oidc-client-secret", NeedPages, "", text(&c.OIDC.ClientSecret), "its secret")),
		row("oidc-groups-claim", NeedPages, "groups", text(&c.OIDC.GroupsClaim), "claim of the ID token that names the groups of a person"),
		row("oidc-roles", NeedPages, "", c.setOIDCRoles,
			"what groups may do, as GROUP=HOSPITAL:ROLE separated by commas; HOSPITAL may be * for all, ROLE is viewer, charge or admin"),
		row("oidc-acr", NeedPages, "", text(&c.OIDC.ACR),
			"authentication context class that a sign-in must have, such as one with a second factor (default: any)"),
		row("smtp-host", NeedNotify, "", c.setSMTPHost, "relay that alerts by e-mail are handed to (default: none, no e-mail)"),
		row("smtp-port", NeedNotify, "587", c.setSMTPPort, "port of the relay"),
		row("smtp-tls", NeedNotify, "starttls", oneOf(&c.SMTP.TLS, "starttls", "tls"),
			"starttls (nothing is sent without it) or tls from the first byte, as on port 465"),
		row("smtp-ca", NeedNotify, "", c.setSMTPRoots,
			"PEM file of authorities that may have signed the relay's certificate, beside those of the system"),
		row("smtp-user", NeedNotify, "", text(&c.SMTP.User), "user at the relay (default: no login)"),
		secret(row("smtp-password", NeedNotify, "", text(&c.SMTP.Password), "its password")),
		row("smtp-from", NeedNotify, "", text(&c.SMTP.From), "sender of the e-mail, an address"),
		row("sms-driver", NeedNotify|NeedHTTP, "", oneOf(&c.SMS.Driver, "", "http", "twilio"),
			"gateway of SMS: http (our own signed request) or twilio (default: none, no SMS)"),
		row("sms-url", NeedNotify|NeedHTTP, "", text(&c.SMS.URL), "where messages are posted; with twilio the base, https://api.twilio.com"),
		row("sms-account", NeedNotify|NeedHTTP, "", text(&c.SMS.Account), "account at twilio"),
		secret(row("sms-token", NeedNotify|NeedHTTP, "", text(&c.SMS.Token),
			"secret that signs messages and receipts; with twilio the auth token")),
		row("sms-from", NeedNotify|NeedHTTP, "", text(&c.SMS.From), "sender of the SMS; with twilio a number or a messaging service"),
		row("mllp", NeedIngest, "", c.setMLLP,
			"senders of HL7 v2 over MLLP, each as addr=HOST:PORT,key=KEY[,from=NETWORK][,client=NAME], separated by semicolons (default: "+
				"none)"),
		row("mllp-tls-cert", NeedIngest, "", file(&c.MLLP.Cert), "PEM file of the certificate for MLLP over TLS"),
		row("mllp-tls-key", NeedIngest, "", file(&c.MLLP.Key), "PEM file of that certificate's key"),
		row("mllp-tls-client-ca", NeedIngest, "", file(&c.MLLP.ClientCA),
			"PEM file of the authorities of the senders' certificates; with it a sender needs one"),
		row("mllp-connections", NeedIngest, "1000", count(&c.MLLP.Connections, 1, 100_000), "connections to one MLLP address at once"),
		row("mllp-connections-per-peer", NeedIngest, "100", count(&c.MLLP.PerPeer, 1, 100_000), "of them from one machine"),
		row("mllp-idle", NeedIngest, "1h", duration(&c.MLLP.Idle, time.Second, 7*24*time.Hour),
			"an MLLP connection without a message for so long is closed"),
		row("instance", NeedProcess|NeedNotify, "", text(&c.Instance),
			"name of this process in its consumer group, one per process (default: the host name)"),
		row("leave", NeedProcess|NeedNotify, "false", boolean(&c.Leave),
			"give up the place in the consumer group at a stop, for an instance that does not come back; else its partitions wait 10 s for it"),
		row("docs-url", NeedHTTP, "", c.setDocs,
			"address of the documentation in error answers (default: /docs under --public-url, else under the address that the request was "+
				"sent to)"),
		row("trusted-proxies", NeedHTTP, "", c.setProxies,
			"networks of the proxies in front, as 10.0.0.0/8, separated by commas: from them X-Forwarded-For is believed (default: none)"),
		row("unauthorized-rate", NeedHTTP, "20", count(&c.StrangersRate, 0, 100_000),
			"requests per second without a valid key that an address may send, 30 seconds of them at once; those above are answered 429; 0 "+
				"for no limit"),
		row("cors-origins", NeedHTTP, "", c.setOrigins,
			"origins whose pages may call the API from a browser, such as https://board.example, separated by commas (default: none)"),
		row("shutdown-within", NeedHTTP|NeedNotify, "10s", duration(&c.ShutdownWithin, 0, 5*time.Minute),
			"time for open requests at a graceful stop; half of it for those to webhooks, at most 5s"),
		row("drain", NeedHTTP, "0", duration(&c.Drain, 0, 5*time.Minute),
			"time at a graceful stop in which requests are still taken while /readyz says that the process ends: as long as whoever "+
				"balances load takes to notice"),
		row("log-level", everywhere, "info", oneOf(&c.LogLevel, logLevels...), "debug, info, warn or error"),
	}
}

func row(name string, only Need, preset string, set func(value string) error, help string) *option {
	return &option{name: name, only: only, preset: preset, set: set, help: help}
}

// secret lets the value also come from the file that SVC_…_FILE names.
func secret(o *option) *option {
	o.secret = true
	return o
}

// filled refuses an empty value.
func filled(o *option) *option {
	o.filled = true
	return o
}
