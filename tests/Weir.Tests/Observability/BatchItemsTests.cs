using Weir.Observability;

namespace Weir.Tests.Observability;

/// <summary>What is counted of a run of batches: the items in them, whatever the sizes of the batches.</summary>
public class BatchItemsTests
{
    [Theory(Timeout = 90_000)]
    [InlineData("list")]
    [InlineData("lazy")]
    [InlineData("async")]
    [InlineData("keyed")]
    public async Task Items_OfBatches_AreCountedByOutcome(string kind)
    {
        List<ProgressSnapshot> reports = [];
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 2,
            ErrorMode = ErrorMode.BestEffort,
            Progress = new ProgressOptions { OnProgress = reports.Add, ReportInterval = Timeout.InfiniteTimeSpan, Total = kind is "lazy" or "async" ? 25 : null },
        };
        int[] items = [.. Enumerable.Range(0, 25)];
        ValueTask Act(IReadOnlyList<int> batch, CancellationToken token) => batch[0] is 10 or 24 ? throw new TestException("no") : default;
        switch (kind)
        {
            case "list":
                await items.ForEachBatchParallelAsync(4, Act, options);
                break;
            case "lazy":
                await items.Select(static x => x).ForEachBatchParallelAsync(4, Act, options);
                break;
            case "async":
                await Async(items).ForEachBatchParallelAsync(4, Act, options, TimeSpan.FromHours(1));
                break;
            default:
                await items.PartitionBatchesBy(static batch => batch[0] % 3).ForEachBatchParallelAsync(4, Act, options);
                break;
        }

        // The batch that begins with 24 has one item; no batch begins with 10.
        ProgressSnapshot last = reports.Single(static report => report.IsFinal);
        Assert.Equal((24, 1, 7), (last.Succeeded, last.Failed, last.Batches));
        Assert.Equal(25, last.Started);
        Assert.Equal(25, last.TotalItems);
        Assert.Equal(100, last.PercentComplete);

        static async IAsyncEnumerable<int> Async(int[] items)
        {
            foreach (int item in items)
            {
                await Task.Yield();
                yield return item;
            }
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task Snapshot_OfBatches_CountsItems()
    {
        using Gate gate = new();
        TaskCompletionSource waits = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = Enumerable.Range(0, 25).ToArray().ForEachBatchParallelAsync(
            4,
            async (batch, token) =>
            {
                if (batch[0] == 8)
                {
                    waits.SetResult();
                    await gate.WaitAsync(token);
                }
            },
            new ParallelRunOptions { OperationName = "batch.items", MaxDegreeOfParallelism = 1 });
        await waits.Task;
        LiveEntry seen = WeirDiagnostics.Snapshot().Entries.Single(static entry => entry.Name == "batch.items");
        Assert.Equal((8, 2, 25, 32.0), (seen.Done, seen.Batches, seen.Total, seen.Percent));
        gate.Open();
        await run;
    }

    [Fact]
    public async Task OnProgress_ThatIsAsync_IsRefused()
    {
        ArgumentException error = await Assert.ThrowsAsync<ArgumentException>(static () => new[] { 1 }.ForEachParallelAsync(
            static (_, _) => default, new ParallelRunOptions { Progress = new ProgressOptions { OnProgress = static async _ => await Task.Yield() } }));
        Assert.Equal("OnProgress", error.ParamName);
    }

    [Fact(Timeout = 90_000)]
    public async Task ControlsRuns_GivesRunsAControl()
    {
        using Gate gate = new();
        Task run;
        try
        {
            WeirDiagnostics.ControlsRuns = true;
            run = new[] { 1, 2 }.ForEachParallelAsync(
                (_, token) => new ValueTask(gate.WaitAsync(token)), new ParallelRunOptions { OperationName = "batch.controlled", MaxDegreeOfParallelism = 1 });
        }
        finally
        {
            WeirDiagnostics.ControlsRuns = false;
        }

        LiveEntry seen = WeirDiagnostics.Snapshot().Entries.Single(static entry => entry.Name == "batch.controlled");
        WeirDiagnostics.Find<RunControl>(seen.Id)!.Stop();
        gate.Open();
        await run;
    }
}
