using Weir.Lab.Results;
using Weir.Lab.Workers;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class TrendsCheckTests
{
    private const string Fell = "The rate fell by 1.0 % a second throughout the run [0.8 %..1.2 %]: no moment had the median rate.";
    private const string Rose = "The rate rose by 1.0 % a second throughout the run [0.8 %..1.2 %]: no moment had the median rate.";
    private const string Kept = "Memory is kept: after full collections 40.0 MB more are reachable after 40,000 calls than before them, 1032 B a call.";

    [Theory]
    [InlineData(Fell, Kept, null, true)]
    [InlineData(null, Kept, null, false)]
    [InlineData(Rose, Kept, null, false)]
    [InlineData(Fell, null, null, false)]
    [InlineData(Fell, Fell, null, false)]
    [InlineData(Fell, Kept, Fell, false)]
    [InlineData(Fell, Kept, Kept, false)]
    public void Section_OneOfTwoDiffers_IsMetIfEachIsFoundAndNothingElse(string? slower, string? leaking, string? steady, bool isMet) =>
        Assert.Equal(isMet, TrendsCheck.Section([[Of(Fell), Of(slower)], [Of(Kept), Of(leaking)], [Of(null), Of(steady)]]).IsMet);

    [Fact]
    public void Section_UnquietMachine_IsNoTrend() =>
        Assert.True(TrendsCheck.Section([[Of(Fell)], [Of(Kept)], [SelfCheckResults.With(SelfCheckResults.Unquiet)]]).IsMet);

    private static ResultFile Of(string? text) => text is null ? SelfCheckResults.With() : SelfCheckResults.With(
        new Finding(FindingLevel.Doubt, text) { Cause = text == Kept ? RunCause.Growth : RunCause.Drift });
}
