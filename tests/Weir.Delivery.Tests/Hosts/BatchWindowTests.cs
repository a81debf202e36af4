using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>Which batches can be acknowledged, however many others are open.</summary>
public sealed class BatchWindowTests
{
    private const int Limit = 120_000;

    // So many that looking at all of them at each acknowledgement takes longer than a test may.
    private const int Many = 300_000;

    [Theory(Timeout = Limit)]
    [InlineData(AcknowledgementOrder.Delivery)]
    [InlineData(AcknowledgementOrder.Any)]
    public void Acknowledgeable_Batches_AreThoseOfTheOrder(AcknowledgementOrder order)
    {
        var window = new BatchWindow<int, bool>(order);
        TrackedBatch<int, bool>[] all = [.. Enumerable.Range(0, 5).Select(static i => new TrackedBatch<int, bool>(Batch(i, i == 3 ? 0 : 2), true))];
        Array.ForEach(all, window.Add);
        Assert.Equal((5, 9L), (window.Count, window.Items));
        string[] Ready()
        {
            List<TrackedBatch<int, bool>> ready = window.Acknowledgeable();
            window.Remove(ready);
            return [.. ready.Select(static b => b.Batch.Position)];
        }

        bool isAny = order == AcknowledgementOrder.Any;
        Assert.Equal(isAny ? ["3"] : [], Ready());
        all[4].Settle(0);
        all[4].SetResult(1, true);
        all[4].Settle(1);
        all[1].Settle(0);
        all[2].Settle(0);
        all[2].Settle(1);
        Assert.Equal(isAny ? ["2", "4"] : [], Ready());
        Assert.Equal([], Ready());
        all[0].Settle(0);
        all[0].Settle(1);
        Assert.Equal(["0"], Ready());
        all[1].Settle(1);
        Assert.Equal(isAny ? ["1"] : ["1", "2", "3", "4"], Ready());
        Assert.Equal((0, 0L), (window.Count, window.Items));
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Acknowledgeable_OneByOneBehindMany_LooksAtNoOthers(bool lastFirst)
    {
        var window = new BatchWindow<int, bool>(AcknowledgementOrder.Any);
        WorkBatch<int> batch = Batch(0, 1);
        TrackedBatch<int, bool>[] all = [.. Enumerable.Range(0, Many).Select(_ => new TrackedBatch<int, bool>(batch, false))];
        Array.ForEach(all, window.Add);
        int left = Many;
        Task acknowledging = Task.Run(() =>
        {
            foreach (TrackedBatch<int, bool> next in lastFirst ? all.Reverse() : all)
            {
                next.Settle(0);
                window.Remove(window.Acknowledgeable());
                left--;
            }
        });
        await acknowledging.WithinAsync("the acknowledgements");
        Assert.Equal((0, 0), (left, window.Count));
    }
}
