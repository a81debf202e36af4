using Weir.Cli.Kit.Pages;
using Weir.Audit.Report;

namespace Weir.Audit;

/// <summary>The options of <c>audit</c>.</summary>
internal sealed class AuditOptionSet
{
    private const int MostRounds = 10_000;
    private const int MostChanges = 1_000_000;
    private const int MostWorkers = 16;

    private static readonly Dictionary<string, bool> Sources = new(StringComparer.OrdinalIgnoreCase) { ["publisher"] = false, ["table"] = true };

    private readonly TextOption _engine = TextOption.Of("--engine", null, "NAME", $"The queue: {string.Join(", ", AuditEngines.All.Keys)}. Default postgres");
    private readonly TextOption _rounds = TextOption.Of("--rounds", null, "N", "How many rounds, of each scenario. Default 10");
    private readonly TextOption _seed = TextOption.Of("--seed", null, "N", "Chooses the faults: the same seed gives the same plan. Default 1");
    private readonly TextOption _changes = TextOption.Of(
        "--changes", null, "N", "How many changes each round publishes. Default 400, or 4096 for users and users-keys");
    private readonly TextOption _scenario = TextOption.Of(
        "--scenario",
        null,
        "NAME,...",
        $"What is audited: {string.Join(", ", AuditScenario.All.Keys)}, several of them, or all, one after the other. Default faults");
    private readonly TextOption _workers = TextOption.Of("--workers", null, "N", "How many worker processes. Default 2");
    private readonly TextOption _from = TextOption.Of(
        "--from",
        null,
        "WHAT",
        "What fills the queue: publisher, in the transaction of the change, or table, which a reader of its write-ahead log moves into it. Default publisher");
    private readonly TextOption _fault = TextOption.Of(
        "--fault", null, "NAME", $"Puts a fault into the workers, which the audit must find: {string.Join(", ", AuditFaults.All.Keys)}. Default none");
    private readonly TextOption _postgres = TextOption.Of(
        "--postgres",
        "WEIR_AUDIT_POSTGRES",
        "CONNECTION",
        "A server that lends a database and is not killed. Default: one of its own, started with eng/services");
    private readonly TextOption _rabbit = TextOption.Of(
        "--rabbitmq",
        "WEIR_AUDIT_RABBITMQ",
        "ADDRESS",
        "With --engine rabbitmq and --postgres: a broker that lends a queue and is not killed. Default: one of its own");
    private readonly TextOption _patience = TextOption.Of(
        "--patience", null, "TIME", "How long after its last fault a round may take until everything is applied. Default 2min");
    private readonly Option<bool> _json = new("--json") { Description = "Print JSON and nothing else" };
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress" };
    private readonly Option<FileInfo?> _page = new("--output") { Description = "The page to write, such as docs/results/audit.md" };

    public void AddTo(Command command) => command.AddAll(
        _engine, _scenario, _rounds, _seed, _changes, _workers, _from, _fault, _postgres, _rabbit, _patience, _json, _quiet, _page);

    /// <summary>Reads and checks all of them.</summary>
    public AuditSettings Read(ParseResult parsed, Func<string, string?> variables)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed, variables);

        string engine = Find(_engine)?.OneOf(AuditEngines.All.Keys.ToDictionary(static k => k, StringComparer.OrdinalIgnoreCase)) ?? "postgres";
        FileInfo? page = parsed.GetValue(_page);
        OptionValue? broker = AuditEngines.NeedsBroker(engine) ? Find(_rabbit) : null;
        if (AuditEngines.NeedsBroker(engine) && broker is null != Find(_postgres) is null)
        {
            throw new BadInputException("--postgres and --rabbitmq must be given both or neither: an audit kills either both servers or none.");
        }

        PageFile.Check(page);
        IReadOnlyList<AuditScenario> scenarios = Find(_scenario) is { } named ? Scenarios(named) : [AuditScenario.All["faults"]];
        SeededFault fault = Find(_fault)?.OneOf(AuditFaults.All) ?? SeededFault.None;
        if (fault != SeededFault.None && scenarios is not [{ Name: "faults" }])
        {
            throw new BadInputException("--fault must be left out with --scenario, unless that is faults: what it leads to shows only there.");
        }

        return new AuditSettings
        {
            Plan = new AuditReport
            {
                Engine = engine,
                Scenarios = [.. scenarios.Select(static s => s.Name)],
                RoundsPlanned = Find(_rounds)?.WholeNumber(1, MostRounds) ?? 10,
                Seed = Find(_seed)?.WholeNumber(0, int.MaxValue) ?? 1,
                Changes = Find(_changes)?.WholeNumber(1, MostChanges),
                Workers = Find(_workers)?.WholeNumber(1, MostWorkers) ?? 2,
                FromTable = Find(_from)?.OneOf(Sources) ?? false,
                Fault = fault,
                OwnServer = Find(_postgres) is null,
            },
            Scenarios = scenarios,
            Postgres = Find(_postgres) is { } postgres ? Checked(postgres) : null,
            Rabbit = broker is null ? null : Address(broker),
            Patience = Find(_patience)?.Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), "2min") ?? TimeSpan.FromMinutes(2),
            Json = parsed.GetValue(_json),
            Quiet = parsed.GetValue(_quiet),
            Page = page,
        };
    }

    private static AuditScenario[] Scenarios(OptionValue value) => value.Text == "all" ? [.. AuditScenario.All.Values] :
    [
        .. value.Text.Split(',', StringSplitOptions.TrimEntries).Select(name => AuditScenario.All.GetValueOrDefault(name) ?? throw new BadInputException(
            $"{value.Source} must be all, or some of {string.Join(", ", AuditScenario.All.Keys)}; it is '{value.Text}'.")),
    ];

    private static Uri Address(OptionValue value) =>
        Uri.TryCreate(value.Text, UriKind.Absolute, out Uri? uri) && uri.Scheme is "amqp" or "amqps" && uri.Host.Length > 0 ? uri : throw new BadInputException(
            $"{value.Source} must be the address of a broker, such as amqp://USER:PASSWORD@localhost:5672/; it is something else, "
                + "which is not shown because it may have a password.");

    // Whatever is wrong with it, the message must not repeat it: it has a password in it.
    private static string Checked(OptionValue value)
    {
        try
        {
            return new NpgsqlConnectionStringBuilder(value.Text) is { Host.Length: > 0 } builder
                ? builder.ConnectionString
                : throw new ArgumentException("Host is missing.");
        }
        catch (Exception e) when (e is ArgumentException or FormatException or OverflowException or KeyNotFoundException)
        {
            throw new BadInputException(
                $"{value.Source} must be a connection string of Npgsql with a host, such as 'Host=localhost;Username=weir;Password=...'; it is not.");
        }
    }
}
