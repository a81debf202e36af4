using Weir.Lab.Report.Writing;

namespace Weir.Audit.Load;

/// <summary>Converts what was measured of queues to a result in the format of all measuring commands.</summary>
internal static class EngineResults
{
    public static ResultFile Of(
        EngineSettings settings, IReadOnlyList<QueueArm> arms, TrialReport trials, DateTimeOffset startedAt, IReadOnlyList<string> arguments)
    {
        ArmRecord[] records = [.. arms.Zip(trials.Arms).Select(arm => Arm(settings, arm.First, arm.Second))];
        return ResultFile.Here(
            "load",
            arguments,
            $"items of {Text(PassItems.ValueBytes)} bytes through queues, from publishing to acknowledged; nothing is done for them",
            "items",
            startedAt) with
        {
            Partial = trials.IsPartial,
            Settings = Texts(settings),
            Arms = records,
            Findings = [.. Findings(settings, arms, records)],
        };
    }

    private static ArmRecord Arm(EngineSettings settings, QueueArm arm, ArmRecord measured) => measured with
    {
        Workers = settings.Consumers,
        Varied = new Dictionary<string, string> { ["items"] = Text(arm.ItemsPerMessage) },
        Settings = new Dictionary<string, string>
        {
            ["engine"] = arm.Engine,
            ["count"] = Numbers.Grouped(arm.Count),
            ["in_flight"] = settings.Rate is null ? Numbers.Grouped(arm.InFlight) : "any",
        },
    };

    private static Dictionary<string, string> Texts(EngineSettings settings) => SettingTexts.Given(
        ("engine", string.Join(',', settings.Engines.Select(static e => e.Engine.Name))),
        ("items_per_message", string.Join(',', settings.ItemsPerMessage.Select(Text))),
        ("consumers", Text(settings.Consumers)),
        ("publishers", Text(settings.Publishers)),
        ("concurrency", Numbers.Grouped(settings.Concurrency)),
        ("keys", Numbers.Grouped(settings.Keys)),
        ("ordered", settings.IsOrdered ? "true" : null),
        (Legend.Loop, settings.Rate is null ? "closed" : Legend.Open),
        ("rate", settings.Rate is { } rate ? $"{Numbers.Short(rate)}/s" : null),
        ("trials", Numbers.Grouped(settings.Trials)));

    private static IEnumerable<Finding> Findings(EngineSettings settings, IReadOnlyList<QueueArm> arms, IReadOnlyList<ArmRecord> records)
    {
        foreach ((QueueArm arm, ArmRecord record) in arms.Zip(records))
        {
            if (Sum(record, static r => r.Lost) is > 0 and long lost)
            {
                string unpublished = arm.Unpublished > 0 ? $"; {Numbers.Grouped(arm.Unpublished)} more were not published, because these took their place" : "";
                yield return new Finding(
                    FindingLevel.Invalid,
                    $"{arm.Name}: {Numbers.Grouped(lost)} items were published and not done when nothing had been acknowledged for "
                        + $"{Numbers.Time(settings.Patience)}: lost, or held up for longer than --patience{unpublished}.");
            }
            else if (arm.Unpublished > 0)
            {
                yield return new Finding(
                    FindingLevel.Invalid,
                    $"{arm.Name}: {Numbers.Grouped(arm.Unpublished)} items were not published within {Numbers.Time(settings.Patience)}.");
            }

            if (settings.IsOrdered && Sum(record, static r => r.OutOfOrder) is > 0 and long disordered)
            {
                yield return new Finding(FindingLevel.Invalid, $"{arm.Name}: {Numbers.Grouped(disordered)} items were processed out of order.");
            }

            if (arm.Faults is { Count: > 0, Last: { } last })
            {
                yield return new Finding(
                    FindingLevel.Doubt,
                    $"{arm.Name}: consumers repeated {Numbers.Counted((int)Math.Min(arm.Faults.Count, int.MaxValue), "call")}, the last one because of: "
                        + Credentials.LineOf(last).TrimEnd('.') + ".");
            }
        }

        string[] behind = [.. arms.Zip(records).Where(p => settings.Rate is { } rate && p.Second.IsMeasured && p.Second.Rate().Median < 0.95 * rate)
            .Select(static p => p.First.Name)];
        if (behind.Length > 0)
        {
            yield return new Finding(
                FindingLevel.Note,
                $"Not all items were done at the rate at which they came, so the latency grows with the time: {string.Join(", ", behind)}.");
        }
    }

    private static long Sum(ArmRecord arm, Func<RoundRecord, long?> figure) => arm.Rounds.Sum(r => figure(r) ?? 0);

    private static string Text(int number) => Numbers.Grouped(number);
}
