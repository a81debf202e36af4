using Weir.Lab.Results;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class WaitsCheckTests
{
    // A frame for each that has the words of the table behind it.
    private static readonly Dictionary<string, string> Frames = new()
    {
        ["a lock"] = ";System.Threading.Monitor.Enter",
        ["a semaphore"] = ";System.Threading.SemaphoreSlim.Wait",
        ["a reader-writer lock"] = ";System.Threading.ReaderWriterLockSlim.EnterWriteLock",
        ["a task: blocks its thread"] = ";System.Threading.Tasks.Task.InternalWait",
        ["a blocking collection"] = ";System.Collections.Concurrent.BlockingCollection`1.TryTake",
        ["an event or a pulse"] = ";System.Threading.ManualResetEventSlim.Wait",
        ["a wait handle"] = ";System.Threading.WaitHandle.WaitOne",
        ["a sleep"] = ";System.Threading.Thread.Sleep",
        ["a native call"] = "",
    };

    [Theory]
    [InlineData(0.96, 0, true)]
    [InlineData(0.94, 0, false)]
    [InlineData(1.2, 0, true)]
    [InlineData(0.96, 1, true)]
    [InlineData(0.96, 2, false)]
    public void Section_OneOfTen_IsMetByItsPlaceAndItsRate(double profiled, int longerWaits, bool isMet)
    {
        CheckSection section = WaitsCheck.Section([Of(profiled, longerWaits)]);

        Assert.Equal(isMet, section.IsMet);
        Assert.True(section.IsFit);
    }

    [Fact]
    public void Section_SlowerInOneOfThreeRuns_CountsTheMedian() => Assert.True(WaitsCheck.Section([Of(0.5, 0), Of(0.99, 0), Of(0.98, 0)]).IsMet);

    [Fact]
    public void Section_UnquietMachine_IsUnfitAndStillNamesEach()
    {
        CheckSection named = WaitsCheck.Section([Unquiet(Of(0.99, 0))]);
        CheckSection unnamed = WaitsCheck.Section([Unquiet(Of(0.99, 2))]);

        Assert.Equal((false, false, true), (named.IsMet, named.IsFit, named.NeedsQuiet));
        Assert.Equal((false, false), (unnamed.IsMet, unnamed.NeedsQuiet));
    }

    private static ResultFile Unquiet(ResultFile result) => result with { Findings = [SelfCheckResults.Unquiet] };

    // All are named at once, but for the third, which has its rate and some longer waits before it.
    private static ResultFile Of(double profiled, int longerWaits) => SelfCheckResults.Profiled(
    [
        .. PlantedWaits.Named.Select((p, i) => SelfCheckResults.Arm(
            100, i == 2 ? 100 * profiled : 100, [("Weir.Lab.Suites.Work", 1)],
            [
                ($"Weir.Lab.Suites.PlantedWaits.{p.Method}{Frames[p.For]}", 50),
                .. Enumerable.Range(0, i == 2 ? longerWaits : 0).Select(static n => ($"Weir.Lab.Suites.Other{n};System.Threading.Thread.Sleep", 60)),
            ])),
    ]);
}
