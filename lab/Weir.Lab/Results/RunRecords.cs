namespace Weir.Lab.Results;

/// <summary>What runs of workers found, as records of a result.</summary>
internal static class RunRecords
{
    // The share of an arm's rounds that may be left out.
    private const double MostLeftOut = 0.34;

    public static IReadOnlyList<RoundRecord> Rounds(WorkerRun run)
    {
        // What is wrong with the only round is wrong with the run.
        string? troubles = IsAlone(run) ? string.Join(" ", run.SharedTroubles) : null;
        return
        [
            .. run.Rounds.Select(Round).Zip(run.Rounds, (record, round) =>
                record.Problem is not null || record.Partial ? record
                : run.Spec.TakesTurns && round.CompilingShare > run.Spec.MostCompiling ? record with { Problem = "Code was being compiled.", Disturbed = true }
                : troubles is not null ? record with { Problem = troubles, Disturbed = true }
                : record),
        ];
    }

    /// <summary>The findings about all rounds of a run.</summary>
    public static IReadOnlyList<Finding> Findings(WorkerRun run) => run.Rounds.Count == 0 ? [] :
    [
        .. IsAlone(run) ? [] : run.SharedTroubles.Select(static t => Finding.Of(t, FindingLevel.Invalid)),
        .. run.Warnings.Select(static w => Finding.Of(w, FindingLevel.Doubt)),
    ];

    /// <summary>The findings about rounds of arms that do not count.</summary>
    public static IEnumerable<Finding> Problems(IEnumerable<ArmRecord> arms)
    {
        foreach (ArmRecord arm in arms)
        {
            if (arm.Counted.Sum(static r => r.Failures) is > 0 and long failed && arm.Counted.Any(static r => r.FailureKinds is not null))
            {
                yield return new Finding(FindingLevel.Note, FormattableString.Invariant(
                    $"{arm.Label}: {failed:N0} of {failed + arm.Counted.Sum(static r => r.Operations):N0} operations failed, which is tolerated: ")
                        + $"{FailureWords.Of(arm.Counted.SelectMany(static r => r.FailureKinds ?? new Dictionary<string, long>()))}.", FindingKind.Rounds);
            }

            RoundRecord[] wrong = [.. arm.Rounds.Where(static r => r.Problem is not null).OrderBy(static r => r.Disturbed)];
            if (wrong.Length == 0)
            {
                continue;
            }

            // Rounds are left out because of their conditions, never because of their rates. If many are left out, the conditions are unsuitable for measuring.
            // Of rounds in turns there are then fewer pairs, and the interval is as wide as it must be, unless there is no pair at all.
            double most = arm.Rounds[0].Turn is null ? arm.Rounds.Count * MostLeftOut : arm.Rounds.Count - 1;
            bool invalid = !wrong[0].Disturbed || wrong.Length > most;
            yield return new Finding(
                invalid ? FindingLevel.Invalid : FindingLevel.Doubt,
                $"{arm.Label}: "
                    + $"{(wrong[0].Disturbed ? $"{wrong.Length} of {arm.Rounds.Count} rounds {(wrong.Length == 1 ? "was" : "were")} left out. " : "")}"
                    + $"{wrong[0].Problem}",
                FindingKind.Rounds);
        }
    }

    public static RoundRecord Round(WorkerRound round) => new RoundRecord
    {
        Partial = round.IsPartial,
        Problem = round.IsPartial || round.Troubles.Count == 0 ? null : string.Join(" ", round.Troubles),
        Operations = round.Operations,
        Seconds = round.Seconds,
        Rate = round.Rate,
        Failures = round.Failures,
        FailureKinds = round.FailureKinds.Count > 0 ? round.FailureKinds : null,
        OverheadNs = round.Overhead?.Nanoseconds,
        OverheadSubtracted = round.Overhead is { IsSubtracted: true },
        Open = round.InFlight.Average,
        OpenMax = round.InFlight.Max,
        Service = round.Service is { } service ? HistogramCodec.Encode(service.Histogram) : null,
        Response = round.Response is { } response ? HistogramCodec.Encode(response.Histogram) : null,
        Batch = round.Groups is [{ SampleEvery: > 1 and var batch }] ? batch : null,
        BatchTimes = round.BatchTimes is { } batches ? HistogramCodec.Encode(batches) : null,
        LateStarts = round.Pacing?.LateStarts,
        Dropped = round.Pacing?.Dropped,
        PerWorker = round.Pacing is null ? [.. round.Workers.Select(static w => w.Operations)] : [],
        LongestGapSeconds = round.Pacing is null && round.Workers.Count > 0 ? round.Workers.Max(static w => w.LongestGap.TotalSeconds) : null,
        CanarySlowness = round.Canary.Slowness,
        CanaryVariation = round.Canary.Variation,
        CanarySpeed = round.Canary.Slowness > 0 ? Canary.StepsPerSecond : null,
        Timeline =
        [
            .. round.Timeline.Select(static p => new TimelineRecord(p.Second, p.Rate, p.GcPause.TotalMilliseconds, p.PoolThreads)
            {
                Cores = p.Cores, ResidentBytes = p.ResidentBytes,
            }),
        ],
    }.With(round.Resources) with { AllocatedBytes = (long)(round.BytesPerOperation * round.Operations) };

    private static bool IsAlone(WorkerRun run) => run.Rounds.Count == 1 && !run.Spec.TakesTurns && run.SharedTroubles.Count > 0 && !run.IsStuck;
}

/// <summary>How a run was done, as texts of a result: these decide whether two results may be compared.</summary>
internal static class SettingTexts
{
    /// <summary>The settings that all arms share.</summary>
    /// <param name="spec">The run of any of them.</param>
    /// <param name="rounds">How many rounds each was to make.</param>
    /// <param name="isolated">Whether each was measured in processes of its own.</param>
    public static Dictionary<string, string> Of(WorkerRunSpec spec, int rounds, bool isolated) => Given(
        ("duration", Numbers.Time(spec.Duration)),
        ("rounds", $"{rounds}"),
        ("isolate", isolated ? "process" : "none"),
        ("seed", $"{spec.Seed}"),
        ("groups", spec.Groups is [{ Name: WorkerRunSpec.DefaultGroup }] ? null : string.Join(',', spec.Groups.Select(static g => $"{g.Name}:{g.Workers}"))),
        ("rate", spec.RatePerSecond is { } rate ? FormattableString.Invariant($"{rate}/s") : null),
        ("max_inflight", spec.MaxInFlight is { } most ? $"{most}" : null),
        ("min_threads", spec.MinThreads is { } threads ? $"{threads}" : null));

    /// <summary>Those of some settings that are given.</summary>
    public static Dictionary<string, string> Given(params (string Name, string? Text)[] texts) =>
        texts.Where(static t => t.Text is not null).ToDictionary(static t => t.Name, static t => t.Text!);
}
