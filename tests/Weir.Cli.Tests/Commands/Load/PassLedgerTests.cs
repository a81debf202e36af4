using Weir.Delivery;
using Weir.Audit.Load.Passes;
using Weir.Lab.Trials;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>What counts as done, delivered twice, lost and out of order.</summary>
public sealed class PassLedgerTests : IDisposable
{
    private const int Limit = 60_000;

    private readonly PassItems _items = new(Pass: 3, Count: 10, PerMessage: 4, Publishers: 2, Keys: 4);
    private readonly DeliveryTally _tally = new() { Response = new() };
    private readonly WindowStarts _starts = new(messages: 2, itemsPerMessage: 4);
    private readonly PassLedger _ledger;
    private readonly WorkItem<string>[] _all;

    public PassLedgerTests()
    {
        _ledger = new PassLedger(_items, _starts, _tally);
        List<WorkItem<string>> all = [];
        for (int message = 0; message < _items.Messages; message++)
        {
            _ledger.Begin(message, intended: 0, now: 1);
            _items.Add(message, "origin", all);
        }

        _ledger.EndPublishing(all.Count);
        _all = [.. all];
    }

    [Fact]
    public void Items_OfAllMessages_AreNumberedAndAKeyHasOnePublisher()
    {
        Assert.Equal((3, 4, 4, 2), (_items.Messages, _items.AllKeys, _items.SizeOf(1), _items.SizeOf(2)));
        Assert.Equal(Enumerable.Range(0, 10), _all.Select(i => _items.Find(i.Value)!.Value));
        Assert.All(_all, static i => Assert.Equal(PassItems.ValueBytes, i.Value.Length));
        Assert.Equal(10, _all.Select(static i => i.Id).Distinct().Count());
        Assert.All(
            _all.GroupBy(static i => i.Key),
            key => Assert.Single(key.Select(i => _items.Find(i.Value)!.Value / _items.PerMessage % _items.Publishers).Distinct()));
        Assert.Null((_items with { Pass = 4 }).Find(_all[0].Value));
    }

    [Fact(Timeout = Limit)]
    public async Task All_ProcessedAndAcknowledged_IsDone()
    {
        Array.ForEach(_all, _ledger.Process);
        Assert.False(_ledger.AllDone.IsCompleted);
        Assert.True(_ledger.IsWaiting);
        Acknowledge(_all[..9]);
        Assert.False(_ledger.AllDone.IsCompleted);
        Acknowledge(_all[9..]);
        await _ledger.AllDone.WaitAsync(TestContext.Current.CancellationToken);
        Assert.Equal((10, 10, false), (_ledger.Published, _ledger.Done, _ledger.IsWaiting));
        Assert.Equal((0, 0), (_tally.Duplicates, _tally.OutOfOrder));
        Assert.Equal((10, 10), (_tally.Service.Count, _tally.Response!.Count));
    }

    [Fact]
    public void Item_DeliveredTwice_IsOneDuplicateAndDoneOnce()
    {
        Array.ForEach(_all, _ledger.Process);
        _ledger.Process(_all[2]);
        Acknowledge(_all[2], _all[2]);
        Acknowledge(_all[2]);
        Assert.Equal((1, 1, 1), (_tally.Duplicates, _ledger.Done, _tally.Service.Count));
        Assert.Equal(0, _tally.OutOfOrder);
    }

    [Fact]
    public void Item_AcknowledgedButNeverProcessed_IsNotDone()
    {
        _all[1..].ToList().ForEach(_ledger.Process);
        Acknowledge(_all);
        Assert.Equal((9, 10), (_ledger.Done, _ledger.Published));
        Assert.False(_ledger.AllDone.IsCompleted);
    }

    [Fact]
    public void Item_OfAnEarlierPass_IsADuplicateAndNoItemOfThisOne()
    {
        List<WorkItem<string>> earlier = [];
        (_items with { Pass = 2 }).Add(0, "origin", earlier);
        _ledger.Process(earlier[0]);
        Acknowledge([.. earlier]);
        Assert.Equal((1, 0), (_tally.Duplicates, _ledger.Done));
    }

    [Fact]
    public void Order_OfAKey_IsBrokenByAnEarlierItemAndNotByOtherKeys()
    {
        // The keys of the first publisher's items are 0, 2, 0, 2 and of its second message 0, 2.
        Assert.Equal(["0", "2", "0", "2"], _all[..4].Select(static i => i.Key));
        _ledger.Process(_all[2]);
        _ledger.Process(_all[1]);
        Assert.Equal(0, _tally.OutOfOrder);
        _ledger.Process(_all[0]);
        Assert.Equal(1, _tally.OutOfOrder);
        _ledger.Process(_all[8]);
        _ledger.Process(_all[3]);
        Assert.Equal((1, 0), (_tally.OutOfOrder, _tally.Duplicates));
    }

    [Fact(Timeout = Limit)]
    public async Task Window_Full_OpensWithAsManyItemsAsAMessageHas()
    {
        long[] intended = new long[3];
        Assert.Equal(2, await _starts.TakeAsync(intended, TestContext.Current.CancellationToken));
        Assert.True(intended[0] > 0 && intended[1] > 0 && intended[2] == 0);
        Task<int> next = _starts.TakeAsync(intended, TestContext.Current.CancellationToken).AsTask();
        Array.ForEach(_all, _ledger.Process);
        Acknowledge(_all[..3]);
        Assert.False(next.IsCompleted);
        Acknowledge(_all[3]);
        Assert.Equal(1, await next);
    }

    public void Dispose() => _starts.Dispose();

    private void Acknowledge(params WorkItem<string>[] items) => _ledger.Acknowledge([new WorkBatch<string>(items, "1")]);
}
