using System.Collections.Concurrent;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>A run whose first item ends, and whose second one fails and so stops the run, while two others are inside their calls.</summary>
internal sealed class StoppedRun : IDisposable
{
    private readonly ConcurrencyProbe _probe = new();
    private readonly Gate _gate = new();
    private readonly ConcurrentDictionary<int, int> _calls = [];

    public static ParallelRunOptions Options { get; } = new() { MaxDegreeOfParallelism = 3, OnErrorAsync = static (_, _) => new(false) };

    public void Dispose() => _gate.Dispose();

    /// <summary>How often the call of an item was made.</summary>
    public int CallsOf(int item) => _calls.GetValueOrDefault(item);

    public async ValueTask<int> CallAsync(int item, CancellationToken token)
    {
        _calls.AddOrUpdate(item, 1, static (_, made) => made + 1);
        using (_probe.Enter())
        {
            if (item == 1)
            {
                await _gate.WaitAsync();
                throw new TestException("stop");
            }

            if (item > 0)
            {
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            }

            return item;
        }
    }

    /// <summary>Lets the second item fail, and checks what became of each.</summary>
    public async Task<ItemOutcome<int, int>[]> EndAsync(Task<ItemOutcome<int, int>[]> running)
    {
        // The first item, which ends at once, may be inside for a while beside the next two.
        await _probe.EnteredAsync(4);
        await _probe.InsideAsync(3);
        _gate.Open();
        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.All(outcomes.Index(), o => Assert.Equal(
            o.Index == 0 ? ItemStatus.Succeeded : o.Index == 1 ? ItemStatus.Failed : _calls.ContainsKey(o.Index) ? ItemStatus.Cancelled : ItemStatus.NotRun,
            o.Item.Status));
        Assert.Equal(4, _calls.Count);
        return outcomes;
    }
}
