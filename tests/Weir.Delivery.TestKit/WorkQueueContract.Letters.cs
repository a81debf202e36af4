namespace Weir.Delivery.TestKit;

/// <content>Dead letters whose identities are unusual.</content>
public abstract partial class WorkQueueContract
{
    [Theory(Timeout = Limit)]
    [InlineData("dead", 0)]
    [InlineData("a/b/7", 999_999_999)]
    [InlineData("dead", 1_000_000_000)]
    [InlineData("dead", int.MaxValue)]
    public async Task DeadLetters_Replayed_KeepTheirIdentity(string origin, int index)
    {
        var id = new WorkId(origin, index);
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await queue.DeadLetters.AddAsync([Letter(queue, 1) with { Id = id.ToString() }]);
        Assert.Equal(1, await queue.DeadLetters.ReplayAsync([id.ToString()]));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(id, Assert.Single(await ReadAsync(source, 1, acknowledge: true)).Id);
    }
}
