using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Budgets;

/// <summary>Does a run that finds no memory for its list tell its caller so? Decided in a process with a small heap.</summary>
public class MemoryLimitTests
{
    private const string Marker = "WEIR_TESTS_SMALL_HEAP";

    // Their segments fit into the heap, and so does the list, but not both.
    private const string HeapLimit = "8000000";
    private const int Count = 500_000;

    // A process for each: what one run has left in pieces would decide whether the segments of the next fit.
    [Theory(Timeout = 120_000)]
    [InlineData("list")]
    [InlineData("outcomes")]
    [InlineData("failed")]
    public async Task Results_ThatDoNotFit_AreAnExceptionInASmallHeap(string run)
    {
        string assembly = typeof(MemoryLimitTests).Assembly.Location;
        ProcessStartInfo start = new(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet") { RedirectStandardOutput = true };
        start.Environment["DOTNET_GCHeapHardLimit"] = HeapLimit;

        // The room that is left must not depend on when a collection happens to run, nor on how much may be new before the next one.
        start.Environment["DOTNET_gcConcurrent"] = "0";
        start.Environment["DOTNET_GCgen0size"] = "400000";
        start.Environment[Marker] = run;
        foreach (string argument in new[] { "exec", assembly, "-noColor", "-method", $"{typeof(MemoryLimitTests).FullName}.{nameof(InASmallHeap)}" })
        {
            start.ArgumentList.Add(argument);
        }

        using Process child = Process.Start(start)!;
        string output = await child.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await child.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(child.ExitCode == 0, output);
        Assert.Contains("Total: 1, Errors: 0, Failed: 0", output, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task InASmallHeap()
    {
        IEnumerable<int> items = Enumerable.Range(0, Count).Where(static _ => true);
        switch (Environment.GetEnvironmentVariable(Marker))
        {
            case "list":
                Task list = items.SelectParallelAsync(static (_, _) => new ValueTask<Wide>(default(Wide)));
                await Assert.ThrowsAsync<OutOfMemoryException>(() => list.WithinAsync());
                break;

            case "outcomes":
                Task outcomes = items.SelectParallelOutcomesAsync(static (_, _) => new ValueTask<Wide>(default(Wide)));
                await Assert.ThrowsAsync<OutOfMemoryException>(() => outcomes.WithinAsync());
                break;

            case "failed":
                // Nobody gets the results of a run that failed, so they need no room.
                Task failed = items.SelectParallelAsync(static (x, _) => x < Count - 1 ? new ValueTask<Wide>(default(Wide)) : throw new TestException("last"));
                await Assert.ThrowsAsync<TestException>(() => failed.WithinAsync());
                break;
        }
    }

    [InlineArray(16)]
    private struct Wide
    {
        private long _first;
    }
}
