namespace Weir.Cli.Measuring;

/// <summary>A condition under which a run fails, such as <c>p99&gt;50ms</c>.</summary>
/// <param name="Text">As it was given.</param>
/// <param name="Metric">What is looked at.</param>
/// <param name="Comparison">How it is compared with the limit.</param>
/// <param name="Limit">The limit, in nanoseconds, operations per second, a share, or bytes.</param>
internal sealed partial record Threshold(string Text, string Metric, string Comparison, double Limit)
{
    public const string Flag = "--fail-if";
    private const string Percentiles = "p50, p90, p99, p99.9, p99.99";

    /// <summary>Reads a condition.</summary>
    public static Threshold Parse(string text)
    {
        OptionValue given = new(Flag, text);
        if (Condition().Match(text) is not { Success: true } match)
        {
            throw given.Bad($"a metric ({Percentiles}, mean, max, rate, failures or bytes), then >, >=, < or <=, then a limit, such as p99>50ms, "
                + "rate<1000/s, failures>1% or bytes>1KB");
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
                return arm.Counted.All(static r => r.AllocatedBytes is not null) && arm.Counted.Sum(static r => r.Operations) is > 0 and var operations
                    ? arm.Counted.Sum(static r => (double)r.AllocatedBytes!.Value) / operations
                    : null;
        }

        // With a rate, the time from the intended start is what a user would have waited.
        LatencyHistogram? latency = arm.Latency(static r => r.Response) ?? arm.Latency(static r => r.Service);
        return (latency, Metric) switch
        {
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

    [GeneratedRegex(@"^\s*(?<metric>p50|p90|p99|p99\.9|p99\.99|mean|max|rate|failures|bytes)\s*(?<comparison>>=|<=|>|<)\s*(?<limit>\S.*?)\s*$",
        RegexOptions.IgnoreCase)]
    private static partial Regex Condition();
}
