namespace Weir.Lab.Report.Tables;

/// <summary>The tables of profiles: the same in the terminal, in Markdown and on the page, where names may be longer.</summary>
internal static class ProfileTables
{
    private const int MostRows = 15;

    // With the figures beside it a line of 80 characters.
    private const int NameInText = 43;

    /// <summary>All of a result, with names that fit a terminal.</summary>
    public static IEnumerable<Table> All(ResultFile result) => result.Arms
        .Where(static a => a.Profile is { Samples: > 0 } or { Waiting: > 0 } or { Awaits.Count: > 0 } or { Allocations.Count: > 0 })
        .SelectMany(static a => Of(a, a.Profile!, NameInText));

    /// <summary>Those of one arm.</summary>
    public static IEnumerable<Table> Of(ArmRecord arm, ProfileRecord profile, int longest) =>
        new[] { Methods(arm, profile, longest), Waits(arm, profile, longest), Awaits(arm, profile, longest), Allocations(arm, profile, longest) }
            .OfType<Table>();

    /// <summary>The methods in which most samples ended; <see langword="null"/> without samples.</summary>
    public static Table? Methods(ArmRecord arm, ProfileRecord profile, int longest) => profile.Samples == 0 ? null : Table.Of(
        FormattableString.Invariant($"Hot methods: {arm.Label} ({profile.Samples:#,0} samples of work in {profile.Seconds:0.0} s)"),
        1,
        [.. profile.Methods().Take(MostRows)],
        ("method", m => Shortened(m.Name, longest)),
        ("exclusive", m => Share(m.Exclusive, profile.Samples)),
        ("inclusive", m => Share(m.Inclusive, profile.Samples)));

    /// <summary>Where threads of the work waited, and for what; <see langword="null"/> if none did.</summary>
    public static Table? Waits(ArmRecord arm, ProfileRecord profile, int longest) => profile.Waiting == 0 ? null : Table.Of(
        $"Waiting: {arm.Label} ({Share(profile.Waiting, profile.Waiting + profile.Samples)} of the time of its threads)",
        1,
        [.. WaitPlace.Of(profile.Waits).Take(MostRows)],
        ("method", w => Shortened(w.Method, longest - 16)),
        ("waits for", static w => w.For),
        ("share", w => Share(w.Samples, profile.Waiting)));

    /// <summary>What asynchronous methods awaited, and whom that held; <see langword="null"/> if none awaited anything that is known.</summary>
    public static Table? Awaits(ArmRecord arm, ProfileRecord profile, int longest) => profile.Awaits.Count == 0 ? null : Table.Of(
        $"Awaiting: {arm.Label} (what the innermost asynchronous method awaits, and which methods await that one)",
        3,
        [.. profile.Awaits.Take(MostRows).Select(static a => (Path: a.Frames.Split(ProfileStack.Separator), Await: a))],
        ("method", x => Shortened(x.Path[^2], longest - 16)),
        ("awaits", static x => x.Path[^1]),
        ("holds", x => x.Path.Length == 2 ? "-" : Shortened(string.Join(" > ", x.Path[..^2].Select(static m => m[(m.LastIndexOf('.') + 1)..])), longest - 16)),
        ("share", x => Share(x.Await.Seconds, profile.Awaits.Sum(static a => a.Seconds))),
        ("mean", static x => Numbers.Nanoseconds(x.Await.Seconds / x.Await.Times * 1e9)));

    /// <summary>The types of which most was allocated; <see langword="null"/> when no sample met any.</summary>
    public static Table? Allocations(ArmRecord arm, ProfileRecord profile, int longest) => profile.Allocations.Count == 0 ? null : Table.Of(
        $"Allocations: {arm.Label} (sampled, one in about 100 KB)",
        1,
        [.. profile.Allocations.Take(MostRows)],
        ("type", a => Shortened(a.Type, longest)),
        ("share", a => Share(a.Bytes, profile.Allocations.Sum(static x => (double)x.Bytes))),
        ("about", static a => Numbers.Bytes(a.Bytes)),
        ("samples", static a => Numbers.Grouped(a.Ticks)));

    /// <summary>A name with its end, which tells more than its beginning.</summary>
    internal static string Shortened(string name, int longest) => name.Length <= longest ? name : "…" + name[^(longest - 1)..];

    /// <summary>A share of all as a text.</summary>
    internal static string Share(double part, double all) => FormattableString.Invariant($"{part / all * 100:0.0} %");
}
