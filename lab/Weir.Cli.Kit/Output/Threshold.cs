using System.Globalization;
using System.Text.RegularExpressions;
using Weir.Cli.Kit.Options;
using Weir.Lab.Latency;
using Weir.Lab.Statistics;

namespace Weir.Cli.Kit.Output;

/// <summary>A condition under which a run fails, such as <c>p99&gt;50ms</c>.</summary>
/// <param name="Text">As it was given.</param>
/// <param name="Metric">What is looked at.</param>
/// <param name="Comparison">How it is compared with the limit.</param>
/// <param name="Limit">The limit, in nanoseconds, operations per second, a share, or bytes.</param>
internal sealed partial record Threshold(string Text, string Metric, string Comparison, double Limit)
{
    public const string Flag = "--fail-if";

    /// <summary>The metrics of commands that time each operation.</summary>
    public static readonly string[] OfOperations = ["p50", "p90", "p99", "p99.9", "p99.99", "mean", "max", "rate", "failures", "bytes"];

    /// <summary>The metrics of commands that time many items together.</summary>
    public static readonly string[] OfItems = ["mean", "rate", "failures", "bytes"];

    /// <summary>The metrics of programs, of which a run is the operation.</summary>
    public static readonly string[] OfPrograms = ["p50", "mean", "max", "rate"];

    /// <summary>The metrics of BenchmarkDotNet's reports.</summary>
    public static readonly string[] OfBenchmarks = ["mean", "rate", "bytes"];

    private static readonly string[] Examples = ["p99>50ms", "mean>1s", "rate<1000/s", "failures>1%", "bytes>1KB"];

    /// <summary>Reads a condition.</summary>
    /// <param name="text">As it was given.</param>
    /// <param name="metrics">Those that the command has.</param>
    public static Threshold Parse(string text, IReadOnlyList<string> metrics)
    {
        OptionValue given = new(Flag, text);
        if (Condition().Match(text) is not { Success: true } match || !metrics.Contains(match.Groups["metric"].Value, StringComparer.OrdinalIgnoreCase))
        {
            string[] examples = [.. Examples
                .Where(e => metrics.Any(m => e.StartsWith(m, StringComparison.Ordinal) && !char.IsAsciiLetterOrDigit(e[m.Length])))];
            throw given.Bad($"a metric ({string.Join(", ", metrics.SkipLast(1))} or {metrics[^1]}), then >, >=, < or <=, then a limit, such as "
                + $"{string.Join(", ", examples.SkipLast(1))} or {examples[^1]}");
        }

        string metric = match.Groups["metric"].Value.ToLowerInvariant();
        OptionValue limit = new($"The limit of {Flag} '{text}'", match.Groups["limit"].Value);
        return new Threshold(text, metric, match.Groups["comparison"].Value, metric switch
        {
            "rate" => limit.PerSecond(0, 1e12, "operations"),
            "failures" => limit.Share(0, 1),
            "bytes" => limit.Bytes(0, 1L << 40, "1KB"),
            _ => limit.Time(TimeSpan.FromTicks(1), TimeSpan.FromHours(1), "50ms").TotalNanoseconds,
        });
    }

    /// <summary>What a result says to it: a finding for each arm that breaks it, and for each of which it cannot be told.</summary>
    public IEnumerable<(Finding Finding, bool IsBroken)> Check(ResultFile result)
    {
        foreach (ArmRecord arm in result.Arms.Where(static a => a.IsMeasured))
        {
            if (ValueOf(arm, result.Machine.ClockNs) is not { } value)
            {
                yield return (new Finding(FindingLevel.Invalid, $"{arm.Label}: {Flag} '{Text}' cannot be decided, because {Metric} is not known here."), false);
            }
            else if (IsBroken(value))
            {
                yield return (new Finding(FindingLevel.Doubt, $"{arm.Label}: {Metric} is {Words(value)}, which {Flag} '{Text}' does not allow."), true);
            }
        }
    }

    private bool IsBroken(double value) => Comparison switch
    {
        ">" => value > Limit,
        ">=" => value >= Limit,
        "<" => value < Limit,
        _ => value <= Limit,
    };

    private double? ValueOf(ArmRecord arm, double clock)
    {
        switch (Metric)
        {
            case "rate":
                return arm.Rate().Median;
            case "failures":
                double failed = arm.Counted.Sum(static r => r.Failures);
                return failed + arm.Counted.Sum(static r => r.Operations) is > 0 and var all ? failed / all : null;
            case "bytes":
                RoundRecord[] read = [.. arm.Counted.Where(static r => r.AllocatedBytes is not null)];
                return read.Sum(static r => r.Operations) is > 0 and var operations
                    ? read.Sum(static r => (double)r.AllocatedBytes!.Value) / operations
                    : null;
        }

        double[] times = [.. arm.Counted.Where(static r => r.Operations > 0).Select(static r => r.Seconds / r.Operations * 1e9).Order()];
        bool isOfRounds = times.Length > 0 && arm.Counted.All(static r => r.Service is null);

        // With a rate, the time from the intended start is what a user would have waited.
        LatencyHistogram? latency = arm.Latency(static r => r.Response) ?? arm.Latency(static r => r.Service);
        return (latency, Metric) switch
        {
            (null, "mean") when isOfRounds => times.Average(),
            (null, "max") when isOfRounds => times[^1],
            (null, "p50") when isOfRounds => Spread.Of(times).Median,
            (null, _) => null,
            (_, "mean") => latency.Mean,
            (_, "max") => latency.Max,
            _ => KnownPercentile.Of(latency, double.Parse(Metric.AsSpan(1), CultureInfo.InvariantCulture), clock)?.Nanoseconds,
        };
    }

    private string Words(double value) => Metric switch
    {
        "rate" => Numbers.Rate(value) + "/s",
        "failures" => FormattableString.Invariant($"{value * 100:0.####} %"),
        "bytes" => Numbers.Bytes(value),
        _ => Numbers.Nanoseconds(value),
    };

    [GeneratedRegex(@"^\s*(?<metric>[a-z0-9.]+)\s*(?<comparison>>=|<=|>|<)\s*(?<limit>\S.*?)\s*$", RegexOptions.IgnoreCase)]
    private static partial Regex Condition();
}
