package config

import (
	"time"
)

// everywhere marks options that all commands have.
const everywhere Need = 0

// options returns all options of the server roles, in the order of --help and of docs/reference/options.md. The options
// set the values of c.
func (c *Config) options() []*option {
	return []*option{
		row("listen", NeedHTTP, "127.0.0.1:8080", address(&c.Listen), "address of the public HTTP server"),
		row("private-listen", NeedTopics, "127.0.0.1:9090", address(&c.PrivateListen),
			"address of /metrics, /debug/pprof, /healthz and /readyz; keep it off the internet"),
		row("kafka", everywhere, "127.0.0.1:9092", c.setBrokers, "Kafka bootstrap servers, host:port separated by commas"),
		row("kafka-tls", everywhere, "false", boolean(&c.KafkaTLS), "use TLS for Kafka"),
		row("kafka-tls-ca", everywhere, "", file(&c.KafkaTLSCA),
			"PEM file of CA certificates for the brokers (default: the system's CAs)"),
		row("kafka-tls-cert", everywhere, "", file(&c.KafkaTLSCert), "PEM file of the client certificate"),
		row("kafka-tls-key", everywhere, "", file(&c.KafkaTLSKey), "PEM file of the client certificate's key"),
		row("kafka-sasl", everywhere, "", oneOf(&c.KafkaSASL, "", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
			"SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default: none)"),
		row("kafka-sasl-user", everywhere, "", text(&c.KafkaUser), "SASL user"),
		secret(row("kafka-sasl-password", everywhere, "", text(&c.KafkaPassword), "SASL password")),
		row("schema-registry", everywhere, "", c.setRegistry,
			"URL of the schema registry where svc registers its schemas; records then carry its schema ids; the same for all "+
				"processes of an installation (default: none; records carry the schema ids of the build)"),
		row("schema-registry-user", everywhere, "", text(&c.Registry.User), "user at the schema registry (default: no login)"),
		secret(row("schema-registry-password", everywhere, "", text(&c.Registry.Password), "password at the schema registry")),
		row("schema-registry-ca", everywhere, "", file(&c.Registry.CAFile),
			"PEM file of CA certificates for the registry (default: the system's CAs)"),
		row("topic-prefix", everywhere, "", text(&c.TopicPrefix), "prefix of all topic names, for tests on a shared cluster"),
		row("partitions", NeedTopics, "48", count(&c.Partitions, 1, 10_000),
			"partitions of the observations and verdicts topics when they are created"),
		row("replication-factor", everywhere, "0", count(&c.Replicas, 0, 100),
			"replicas of the topics when they are created; svc waits for that many brokers, and existing topics must have at least as many "+
				"(default 0: 3, or the number of brokers if smaller)"),
		row("commit-every", NeedProcess, "10ms", duration(&c.CommitEvery, 0, time.Second),
			"how long to collect inputs for a transaction after the last commit; 0 if the brokers have "+
				"add.partitions.to.txn.retry.backoff.ms=1"),
		secret(row("redis", NeedRedis, "redis://127.0.0.1:6379/0", c.setRedis,
			"Redis URL: redis://user:password@host:port/db, or rediss:// for TLS; for Sentinel and Redis Cluster see configuration.md")),
		row("redis-ca", NeedRedis, "", file(&c.RedisCA),
			"PEM file of CA certificates for the Redis server (default: the system's CAs)"),
		filled(secret(row("pseudonym-key", NeedIngest|NeedPseudonyms|NeedKeys, "", c.setPseudonymKey,
			"random key of at least 32 characters for the pseudonyms of patients, visits and events; to rotate it, see "+
				"keys.md"))),
		secret(row("pseudonym-key-old", NeedIngest|NeedPseudonyms|NeedKeys, "", olderKeys(&c.PseudonymsOld),
			"earlier pseudonym keys, one per line, during a rotation; see keys.md")),
		filled(secret(row("secrets-key", NeedIngest|NeedNotify|NeedSecrets|NeedPages|NeedKeys, "", c.setSecretsKey,
			"random key of at least 32 characters that encrypts signing secrets, telephone numbers, addresses of webhooks and alerts, and the "+
				"sessions of the pages; without it, none of these can be set and no one can sign in"))),
		secret(row("secrets-key-old", NeedIngest|NeedNotify|NeedSecrets|NeedPages|NeedKeys, "", olderKeys(&c.SecretsKeyOld),
			"earlier secrets keys, one per line, during a rotation; see keys.md")),
		row("egress-allow", NeedIngest|NeedNotify, "", c.setEgressAllow,
			"private networks that the endpoints of a hospital may use, as HOSPITAL=NETWORK[:PORT[+PORT]], separated by commas (default: "+
				"public addresses only, ports 443 and 8443)"),
		row("egress-ca-file", NeedNotify, "", c.setEgressRoots,
			"PEM file of CA certificates for endpoints, in addition to the system's CAs"),
		row("public-url", NeedNotify|NeedHTTP|NeedLinks, "", c.setPublicURL,
			"address at which people and SMS providers reach this service, for the links in alerts (default: none, alerts have no links)"),
		row("ingest-url", NeedPages, "", c.setIngestURL,
			"address of svc ingest, to which svc read forwards writes, so that one address serves the whole API (default: none, "+
				"writes are not served and pages are read-only)"),
		row("oidc-issuer", NeedPages, "", c.setOIDCIssuer,
			"OpenID Connect provider for signing in to the pages (default: none, people sign in only with links)"),
		row("oidc-client-id", NeedPages, "", text(&c.OIDC.ClientID),
			"client id of this service at the OpenID Connect provider; the redirect URI is /oidc/callback under --public-url"),
		secret(row("oidc-client-secret", NeedPages, "", text(&c.OIDC.ClientSecret), "client secret at the OpenID Connect provider")),
		row("oidc-groups-claim", NeedPages, "groups", text(&c.OIDC.GroupsClaim), "claim of the ID token that lists the groups of a person"),
		row("oidc-roles", NeedPages, "", c.setOIDCRoles,
			"roles of groups, as GROUP=HOSPITAL:ROLE separated by commas; HOSPITAL may be * for all, ROLE is viewer, charge or admin"),
		row("oidc-acr", NeedPages, "", text(&c.OIDC.ACR),
			"authentication context class required for a sign-in, such as one with a second factor (default: any)"),
		row("smtp-host", NeedNotify, "", c.setSMTPHost, "SMTP relay for alerts by e-mail (default: none, no e-mail)"),
		row("smtp-port", NeedNotify, "587", c.setSMTPPort, "port of the relay"),
		row("smtp-tls", NeedNotify, "starttls", oneOf(&c.SMTP.TLS, "starttls", "tls"),
			"starttls (required, no plain text) or tls from the first byte, as on port 465"),
		row("smtp-ca", NeedNotify, "", c.setSMTPRoots,
			"PEM file of CA certificates for the relay, in addition to the system's CAs"),
		row("smtp-user", NeedNotify, "", text(&c.SMTP.User), "user at the relay (default: no login)"),
		secret(row("smtp-password", NeedNotify, "", text(&c.SMTP.Password), "password at the relay")),
		row("smtp-from", NeedNotify, "", text(&c.SMTP.From), "sender address of e-mail"),
		row("sms-driver", NeedNotify|NeedHTTP, "", oneOf(&c.SMS.Driver, "", "http", "twilio"),
			"SMS gateway: http (requests signed by svc) or twilio (default: none, no SMS)"),
		row("sms-url", NeedNotify|NeedHTTP, "", text(&c.SMS.URL), "URL to which messages are posted; for twilio the base URL, "+
			"https://api.twilio.com"),
		row("sms-account", NeedNotify|NeedHTTP, "", text(&c.SMS.Account), "account at Twilio"),
		secret(row("sms-token", NeedNotify|NeedHTTP, "", text(&c.SMS.Token),
			"secret that signs messages and receipts; for twilio the auth token")),
		row("sms-from", NeedNotify|NeedHTTP, "", text(&c.SMS.From), "sender of SMS; for twilio a number or a messaging service"),
		row("mllp", NeedIngest, "", c.setMLLP,
			"senders of HL7 v2 over MLLP, each as addr=HOST:PORT,key=KEY[,from=NETWORK][,client=NAME], separated by semicolons (default: "+
				"none)"),
		row("mllp-tls-cert", NeedIngest|NeedKeys, "", file(&c.MLLP.Cert), "PEM file of the certificate for MLLP over TLS"),
		row("mllp-tls-key", NeedIngest|NeedKeys, "", file(&c.MLLP.Key), "PEM file of that certificate's key"),
		row("mllp-tls-client-ca", NeedIngest|NeedKeys, "", file(&c.MLLP.ClientCA),
			"PEM file of CA certificates for senders; if set, each sender needs a client certificate"),
		row("mllp-connections", NeedIngest, "1000", count(&c.MLLP.Connections, 1, 100_000), "simultaneous connections to one MLLP address"),
		row("mllp-connections-per-peer", NeedIngest, "100", count(&c.MLLP.PerPeer, 1, 100_000),
			"simultaneous connections to one MLLP address from one machine"),
		row("mllp-idle", NeedIngest, "1h", duration(&c.MLLP.Idle, time.Second, 7*24*time.Hour),
			"idle time after which an MLLP connection is closed"),
		row("instance", NeedProcess|NeedNotify, "", text(&c.Instance),
			"name of this process in its consumer group, one per process (default: the host name)"),
		row("leave", NeedProcess|NeedNotify, "false", boolean(&c.Leave),
			"leave the consumer group on shutdown, for an instance that will not return; without it, the partitions wait 6 s for the instance"),
		row("docs-url", NeedHTTP, "", c.setDocs,
			"address of the documentation in error responses (default: /docs under --public-url, or under the address of the "+
				"request)"),
		row("trusted-proxies", NeedHTTP, "", c.setProxies,
			"networks of the proxies in front, such as 10.0.0.0/8, separated by commas, whose X-Forwarded-For is trusted (default: none)"),
		row("unauthorized-rate", NeedHTTP, "20", count(&c.StrangersRate, 0, 100_000),
			"requests per second without a valid key from one address, with a burst of 30 seconds; further requests get a 429 response; 0 "+
				"for no limit"),
		row("cors-origins", NeedHTTP, "", c.setOrigins,
			"origins whose pages may call the API from a browser, such as https://board.example, separated by commas (default: none)"),
		row("shutdown-within", NeedHTTP|NeedNotify, "10s", duration(&c.ShutdownWithin, 0, 5*time.Minute),
			"maximum time to finish open requests during a graceful shutdown; webhook deliveries get half of it, at most 5s"),
		row("drain", NeedHTTP, "0", duration(&c.Drain, 0, 5*time.Minute),
			"time during a graceful shutdown in which requests are still served while /readyz reports not ready, for load balancers to "+
				"stop sending requests"),
		row("log-level", everywhere, "info", oneOf(&c.LogLevel, logLevels...), "debug, info, warn or error"),
	}
}

func row(name string, only Need, preset string, set func(value string) error, help string) *option {
	return &option{name: name, only: only, preset: preset, set: set, help: help}
}

// secret allows the value of an option to come from the file that SVC_…_FILE names.
func secret(o *option) *option {
	o.secret = true
	return o
}

// filled makes an option reject an empty value.
func filled(o *option) *option {
	o.filled = true
	return o
}
