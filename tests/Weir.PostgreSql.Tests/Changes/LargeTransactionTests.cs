using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>What is kept of a transaction that is larger than the buffer. Alone in the process: what other tests keep is counted too.</summary>
[Collection(nameof(LargeTransactionTests))]
[CollectionDefinition(nameof(LargeTransactionTests), DisableParallelization = true)]
public sealed class LargeTransactionTests(PostgresServer server) : ChangeTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Read_LargeTransactionThatNobodyTakes_IsNotCollected()
    {
        const int Count = 60_000;
        PostgresChangeSourceOptions options = Quiet with { MaxChangesPerBatch = 100, MaxBufferedBatches = 3 };
        await using PostgresChangeSource stream = await NewStreamAsync(options);
        await ExecuteAsync($"INSERT INTO {Table} SELECT n, repeat('x', 100) FROM generate_series(1, {Count}) n");
        int mapped = 0;
        await using IWorkSource<int> source = await stream.OpenSourceAsync(change =>
        {
            Interlocked.Increment(ref mapped);
            return change.New!.Get<int>("id");
        });
        int taken = 0;
        long bytes = 0;
        while (taken < Count)
        {
            WorkBatch<int> batch = await NextAsync(source);
            Assert.Equal(Enumerable.Range(taken + 1, batch.Items.Count), batch.Items.Select(static i => i.Value));
            taken += batch.Items.Count;

            // What is in the buffer, one that waits to get in, and the one that was taken.
            Assert.InRange(Volatile.Read(ref mapped), taken, taken + (100 * (3 + 1)));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
            if (taken % 20_000 == 0)
            {
                long now = GC.GetTotalMemory(forceFullCollection: true);
                bytes = bytes == 0 ? now : bytes;
                Assert.InRange(now, 0, bytes + (8 << 20));
            }
        }
    }
}
