using System.Diagnostics;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Handlers that block hold all threads of the pool, for longer than a lease lasts.</summary>
[Collection(nameof(StarvedLeaseTests))]
[CollectionDefinition(nameof(StarvedLeaseTests), DisableParallelization = true)]
public sealed class StarvedLeaseTests(PostgresServer server) : QueueTest(server)
{
    // A lease is renewed four times while it lasts.
    private const int Enough = 6;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(90);

    [Fact(Timeout = Limit)]
    public async Task Lease_NoThreadOfThePoolIsFree_IsRenewedAllTheSame()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { LeaseDuration = TimeSpan.FromSeconds(1) });
        await queue.EnqueueAsync(Values(1));

        // Only whether it is renewed is asked. A thread that is held up for longer than a second would lose it to this source's own look for leases that ended.
        string stays = $"{SqlName.Quote(Schema)}.stays";
        await ExecuteAsync($"CREATE FUNCTION {stays}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$");
        await ExecuteAsync($"CREATE TRIGGER stays BEFORE DELETE ON {Consumers} FOR EACH ROW EXECUTE FUNCTION {stays}()");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await NextAsync(source);

        // Not on a thread of the pool, of which none comes back meanwhile.
        int renewals = await Task.Factory.StartNew(
            WithoutThePool, CancellationToken.None, TaskCreationOptions.LongRunning | TaskCreationOptions.DenyChildAttach, TaskScheduler.Default);
        Assert.Equal(Enough, renewals);
    }

    private int WithoutThePool()
    {
        ThreadPool.GetMaxThreads(out int most, out int ports);
        ThreadPool.GetMinThreads(out int least, out _);
        using ManualResetEventSlim gate = new();
        using CountdownEvent blocked = new(least);
        using CountdownEvent gone = new(least);
        try
        {
            Assert.True(ThreadPool.SetMaxThreads(least, ports));
            for (int i = 0; i < least; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(
                    _ =>
                    {
                        blocked.Signal();
                        gate.Wait();
                        gone.Signal();
                    },
                    null);
            }

            Assert.True(blocked.Wait(Patience));
            return Renewals();
        }
        finally
        {
            gate.Set();
            gone.Wait(Patience);
            ThreadPool.SetMaxThreads(most, ports);
        }
    }

    private int Renewals()
    {
        int count = 0;
        DateTime? before = null;
        for (long start = Stopwatch.GetTimestamp(); count < Enough && Stopwatch.GetElapsedTime(start) < Patience;)
        {
            // As for the renewals, an answer may wait for the pool; then there is another connection.
            try
            {
                using NpgsqlConnection connection = Source.OpenConnection();
                using NpgsqlCommand command = new($"SELECT max(lease_until) FROM {Consumers}", connection) { CommandTimeout = 1 };
                while (count < Enough && Stopwatch.GetElapsedTime(start) < Patience)
                {
                    DateTime now = (DateTime)command.ExecuteScalar()!;
                    count += now > before ? 1 : 0;
                    before = now;
                }
            }
            catch (NpgsqlException)
            {
            }
        }

        return count;
    }
}
