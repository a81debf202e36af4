using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Runtimes;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Suites.Peers;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>The summary of the rounds of one arm, in the figures of this command.</summary>
internal sealed class LoadRow
{
    private const long Million = 1_000_000;

    private LoadRow(ArmRecord arm, RuntimeChoice? choice, LoadSettings settings)
    {
        Arm = arm;
        Choice = choice;
        IsPartial = arm.Rounds.Count < settings.Trials || arm.Rounds.Any(static r => r.Partial);

        // A round that was cut short counts only if there is no complete one, and then with the work that it did.
        Counted = arm.IsMeasured ? arm.Counted : arm.Rounds;
        Items = Counted.Sum(static r => r.Operations);
        Processed = arm.IsMeasured ? settings.Count : Items;
    }

    public ArmRecord Arm { get; }

    /// <summary>The runtime; <see langword="null"/> for a peer.</summary>
    public RuntimeChoice? Choice { get; }

    public string Name => Choice?.Name ?? Arm.Name;

    /// <summary>Whether the run was stopped before the arm had all its rounds.</summary>
    public bool IsPartial { get; }

    /// <summary>The rounds that the figures are computed from, from the first on.</summary>
    public IReadOnlyList<RoundRecord> Counted { get; }

    /// <summary>Whether there are figures. There are none if the run was stopped before.</summary>
    public bool IsMeasured => Counted.Count > 0;

    /// <summary>How many items they have.</summary>
    public long Items { get; }

    /// <summary>How many items the figures of a pass are about.</summary>
    public long Processed { get; }

    /// <summary>Items per second.</summary>
    public Spread Rate => Spread.Of(Counted.Select(static r => r.Rate));

    /// <summary>Wall-clock nanoseconds for each item.</summary>
    public double Nanoseconds => Spread.Of(Counted.Select(NanosecondsOf)).Median;

    /// <summary>Seconds that a pass takes.</summary>
    public double Elapsed => Processed / Rate.Median;

    /// <summary>Collections of any generation during a pass. Not a whole number when a round has several passes.</summary>
    public double GcCount => OfPass(Collections);

    public long Failed => (long)Math.Round(OfPass(FailedOf));

    public long TimedOut => (long)Math.Round(OfPass(static r => r.TimedOut ?? 0));

    /// <summary>The verified checksum; <see langword="null"/> when no pass was completed.</summary>
    public string? Checksum => Counted.Select(static r => r.Checksum).FirstOrDefault(static c => c is not null);

    public double BytesPerItem => (double)Total(static r => r.AllocatedBytes) / Math.Max(Items, 1);

    public double CpuSecondsPerMillion => PerMillion(static r => r.CpuUserSeconds + r.CpuSystemSeconds);

    /// <summary>Nanoseconds of an item beyond one of the direct runtime.</summary>
    public double? AboveDirect { get; private init; }

    /// <summary>How many times as fast as the plain loop.</summary>
    public double? ToLoop { get; private init; }

    /// <summary>How many times as fast as Parallel.ForEachAsync.</summary>
    public double? ToForEachAsync { get; private init; }

    /// <summary>The rows of a result, in its order: the runtimes that were chosen, then the peers.</summary>
    public static IReadOnlyList<LoadRow> Of(ResultFile result, LoadSettings settings)
    {
        IReadOnlyList<RuntimeChoice> choices = settings.Choices;
        RuntimeChoice? ChoiceOf(int arm) => arm < choices.Count ? choices[arm] : null;
        ArmRecord? Named(string name) => result.Arms.FirstOrDefault(arm => arm.Name == name);
        ArmRecord? direct = Named("direct");
        ArmRecord? loop = Named(Peer.Loop.Name);
        ArmRecord? forEach = Named(Peer.ForEachAsync.Name);
        return
        [
            .. result.Arms.Select((arm, i) => new LoadRow(arm, ChoiceOf(i), settings)
            {
                AboveDirect = OfPairs(arm, direct, static (mine, theirs) => NanosecondsOf(mine) - NanosecondsOf(theirs)),
                ToLoop = OfPairs(arm, loop, static (mine, theirs) => mine.Rate / theirs.Rate),
                ToForEachAsync = OfPairs(arm, forEach, static (mine, theirs) => mine.Rate / theirs.Rate),
            }),
        ];
    }

    public static double FailedOf(RoundRecord round) => round.Failures - (round.TimedOut ?? 0);

    public static double Collections(RoundRecord round) => (round.Gen0 ?? 0) + (round.Gen1 ?? 0) + (round.Gen2 ?? 0);

    /// <summary>The sum of a count over the rounds.</summary>
    public long Total(Func<RoundRecord, long?> count) => Counted.Sum(r => count(r) ?? 0);

    /// <summary>A figure for each million items.</summary>
    public double PerMillion(Func<RoundRecord, double?> figure) => Counted.Sum(r => figure(r) ?? 0) * Million / Math.Max(Items, 1);

    /// <summary>The median over the rounds that both arms have; each arm has its rounds from the first on.</summary>
    /// <param name="arm">The one.</param>
    /// <param name="against">The other; <see langword="null"/> when it did not take part.</param>
    /// <param name="compare">Compares two rounds that ran under the same conditions.</param>
    internal static double? OfPairs(ArmRecord arm, ArmRecord? against, Func<RoundRecord, RoundRecord, double> compare)
    {
        static IEnumerable<RoundRecord> Rounds(ArmRecord arm) => arm.IsMeasured ? arm.Counted : arm.Rounds;
        double[] values = against is null ? [] : [.. Rounds(arm).Zip(Rounds(against), compare)];
        return values.Length > 0 ? Spread.Of(values).Median : null;
    }

    private static double NanosecondsOf(RoundRecord round) => round.Seconds * 1e9 / Math.Max(round.Operations, 1);

    private double OfPass(Func<RoundRecord, double> figure) => Counted.Sum(figure) * Processed / Math.Max(Items, 1);
}
