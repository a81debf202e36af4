using Weir.Cli.Kit.Output;
using Weir.Cli.Tests.Support;
using Weir.Lab.Latency;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Run;

/// <summary>Conditions under which a run fails.</summary>
public class ThresholdTests
{
    [Theory]
    [InlineData("p99>50ms", 50e6)]
    [InlineData(" P99.9 >= 1s ", 1e9)]
    [InlineData("rate<1000/s", 1000)]
    [InlineData("failures>1%", 0.01)]
    [InlineData("bytes>1KB", 1024)]
    public void Parse_ACondition_HasItsLimit(string text, double limit) => Assert.Equal(limit, Threshold.Parse(text, Threshold.OfOperations).Limit, 6);

    [Theory]
    [InlineData("p95>1ms", "--fail-if must be a metric (p50, p90, p99, p99.9, p99.99, mean, max, rate, failures or bytes), then >, >=, < or <=, then a limit, "
        + "such as p99>50ms, mean>1s, rate<1000/s, failures>1% or bytes>1KB; it is 'p95>1ms'.")]
    [InlineData("p99>50", "The limit of --fail-if 'p99>50' must be a time from 100 ns to 3600 s such as 50ms; it is '50'.")]
    [InlineData("failures>200%", "The limit of --fail-if 'failures>200%' must be a share from 0% to 100% such as 3% or 0.03; it is '200%'.")]
    public async Task Run_ABadCondition_IsOneClearLineBeforeAnythingIsMeasured(string condition, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync(["run", "noop", "--fail-if", condition]);

        Assert.Equal((1, $"weir: {message}\n"), (result.ExitCode, result.Error));
    }

    [Theory]
    [InlineData("load --fail-if p99>1s", "--fail-if must be a metric (mean, rate, failures or bytes), then >, >=, < or <=, then a limit, such as mean>1s, "
        + "rate<1000/s, failures>1% or bytes>1KB; it is 'p99>1s'.")]
    [InlineData("time true --fail-if bytes>1KB",
        "--fail-if must be a metric (p50, mean, max or rate), then >, >=, < or <=, then a limit, such as mean>1s or rate<1000/s; it is 'bytes>1KB'.")]
    [InlineData("eng/bench --fail-if failures>1%",
        "--fail-if must be a metric (mean, rate or bytes), then >, >=, < or <=, then a limit, such as mean>1s, rate<1000/s or bytes>1KB; it is 'failures>1%'.")]
    [InlineData("eng/bench --fail-if", "--fail-if must be a condition such as 'mean>50us'; it is absent.")]
    [InlineData("gate cpu cpu --fail-if=p99>1s",
        "gate has no --fail-if: limits are for run, scale, load, time. What compares decides by --margin and --figures.")]
    public async Task FailIf_WhatAVerbDoesNotHave_IsOneClearLine(string command, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync(command);

        string program = command.StartsWith("eng/bench ", StringComparison.Ordinal) ? "eng/bench" : "weir";
        Assert.Equal((1, $"{program}: {message}\n"), (result.ExitCode, result.Error));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("scale noop --workers 1,2 --rounds 1 --duration 20ms --fit none --quiet --fail-if rate<1000000000000/s", "noop x 1: rate is ")]
    [InlineData("time true --rounds 3 --quiet --fail-if max>100ns", "true: max is ")]
    [InlineData("load --runtime direct --count 100 --trials 1 --quiet --fail-if mean>=100ns --grain 1ms --workload cpu", "direct x 1: mean is ")]
    public async Task FailIf_WhatIsMet_IsExitCodeTwo(string command, string sentence)
    {
        LoadResult result = await new CliUnderTest().RunAsync(command);

        Assert.True(result.ExitCode is 2 or 3, result.Error);
        Assert.True(result.ExitCode == 3 || result.Error.Contains(sentence, StringComparison.Ordinal), result.Error);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("rate<1000000000000/s", 2)]
    [InlineData("rate>1000000000000/s", 0)]
    [InlineData("failures>0%", 0, Explicit = true)]
    public async Task Run_WithACondition_HasItsExitCode(string condition, int code)
    {
        LoadResult result = await new CliUnderTest().RunAsync(
            ["run", "noop", "--workers", "1", "--rounds", "1", "--duration", "20ms", "--quiet", "--fail-if", condition]);

        Assert.True(code == result.ExitCode || result.ExitCode == 3, result.Error);
        if (result.ExitCode == 2)
        {
            Assert.Contains("noop x 1: rate is ", result.Error, StringComparison.Ordinal);
            Assert.Contains($"which --fail-if '{condition}' does not allow.", result.Out, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Check_LatenciesFailuresAndBytes_AreLookedAtTogether()
    {
        LatencyHistogram latency = new();
        for (int i = 1; i <= 1000; i++)
        {
            latency.Record(i * 1_000_000L);
        }

        ResultFile result = Report.Page.SampleResults.Single() with
        {
            Arms =
            [
                new ArmRecord
                {
                    Name = "x", Workers = 1, Rounds =
                    [
                        new RoundRecord
                        {
                            Operations = 990, Failures = 10, Seconds = 1, Rate = 990, AllocatedBytes = 99_000, Service = HistogramCodec.Encode(latency),
                        },
                    ],
                },
            ],
        };
        string[] Broken(string condition) =>
            [.. Threshold.Parse(condition, Threshold.OfOperations).Check(result).Where(static f => f.IsBroken).Select(static f => f.Finding.Text)];

        Assert.Single(Broken("p99>900ms"));
        Assert.Empty(Broken("p99>1s"));
        Assert.Equal(["x x 1: failures is 1 %, which --fail-if 'failures>=1%' does not allow."], Broken("failures>=1%"));
        Assert.Empty(Broken("failures>1%"));
        Assert.Single(Broken("bytes>99"));
        Assert.Empty(Broken("bytes>100"));
        Assert.Single(Broken("mean>500ms"));
        ResultFile program = result with
        {
            Arms = [result.Arms[0] with { Rounds = [.. new[] { 1.0, 3 }.Select(s => new RoundRecord { Operations = 1, Seconds = s, Rate = 1 / s })] }],
        };
        Assert.Equal(
            [false, true, true, false],
            ((string[])["mean>2s", "mean>=2s", "max>2999ms", "p50>2s"])
                .Select(c => Threshold.Parse(c, Threshold.OfPrograms).Check(program).Any(static f => f.IsBroken)));
        Assert.Equal(FindingLevel.Invalid, Assert.Single(Threshold.Parse("p99.99>1s", Threshold.OfOperations).Check(result)).Finding.Level);
    }
}
