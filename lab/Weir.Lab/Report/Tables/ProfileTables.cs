namespace Weir.Lab.Report.Tables;

/// <summary>The tables of profiles: the same in the terminal, in Markdown and on the page, where names may be longer.</summary>
internal static class ProfileTables
{
    private const int MostRows = 15;

    // With the figures beside it a line of 80 characters.
    private const int NameInText = 43;

    /// <summary>All of a result, with names that fit a terminal.</summary>
    public static IEnumerable<Table> All(ResultFile result) => result.Arms.Where(static a => a.Profile is { Samples: > 0 } or { Allocations.Count: > 0 })
        .SelectMany(static a => new[] { Methods(a, a.Profile!, NameInText), Allocations(a, a.Profile!, NameInText) }).OfType<Table>();

    /// <summary>The methods in which most samples ended; <see langword="null"/> without samples.</summary>
    public static Table? Methods(ArmRecord arm, ProfileRecord profile, int longest) => profile.Samples == 0 ? null : Table.Of(
        FormattableString.Invariant($"Hot methods: {arm.Label} ({profile.Samples:#,0} samples in {profile.Seconds:0.0} s)"),
        1,
        [.. profile.Methods().Take(MostRows)],
        ("method", m => Shortened(m.Name, longest)),
        ("exclusive", m => Share(m.Exclusive, profile.Samples)),
        ("inclusive", m => Share(m.Inclusive, profile.Samples)));

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
