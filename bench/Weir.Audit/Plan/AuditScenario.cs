namespace Weir.Audit.Plan;

/// <summary>What is audited: how the items are processed, and what happens meanwhile.</summary>
/// <param name="Name">Its name.</param>
internal sealed record AuditScenario(string Name)
{
    private const int LeastTogether = 8;
    private const int MostTogether = 1024;
    private const int Transactions = 50;
    private const int InARow = 3;

    /// <summary>The scenarios by their names.</summary>
    public static IReadOnlyDictionary<string, AuditScenario> All { get; } = new AuditScenario[]
    {
        new("faults") { Keys = 16 },
        new("no-keys"),
        new("users") { HasDefaults = true, OnlyKills = true, Changes = 4096 },
        new("users-keys") { Keys = 16, HasDefaults = true, OnlyKills = true, Changes = 4096 },
        new("blocking") { Work = WorkKind.Blocking, OnlyKills = true },
        new("killed-awaiting") { Work = WorkKind.Awaiting, HasDefaults = true, OnlyKills = true, KillsAtWork = true, Changes = 2000 },
        new("killed-blocking") { Work = WorkKind.BlockingShortly, HasDefaults = true, OnlyKills = true, KillsAtWork = true, Changes = 2000 },
        new("killed-mixed") { Work = WorkKind.Mixed, HasDefaults = true, OnlyKills = true, KillsAtWork = true, Changes = 2000 },
        new("long") { Work = WorkKind.Long, OnlyKills = true },
    }.ToDictionary(static s => s.Name, StringComparer.OrdinalIgnoreCase);

    /// <summary>How many keys there are; 0 for items without keys.</summary>
    public int Keys { get; init; }

    /// <summary>Whether the queue has the options that users get who set none. Otherwise leases and messages are short, so that faults outlast them.</summary>
    public bool HasDefaults { get; init; }

    public WorkKind Work { get; init; }

    /// <summary>Whether nothing happens but that a worker is killed, in every second round. Otherwise everything happens, in every round.</summary>
    public bool OnlyKills { get; init; }

    /// <summary>Whether a worker is killed only when half of a round is done, so that what it has done counts.</summary>
    public bool KillsAtWork { get; init; }

    /// <summary>How many changes a round publishes, unless the user says it.</summary>
    public int Changes { get; init; } = 400;

    /// <summary>How many changes a transaction publishes at most, in a round of so many. Where a worker is to be killed with all it can have, many.</summary>
    public int TogetherOf(int changes) => OnlyKills ? MostTogether : Math.Clamp(changes / Transactions, LeastTogether, MostTogether);

    /// <summary>The key of a change: some in a row have the same.</summary>
    public string? KeyOf(long number) => Keys == 0 ? null : Invariant($"key {number / InARow % Keys}");
}
