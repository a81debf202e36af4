using System.Diagnostics;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Handlers that block hold all threads of the pool, for longer than a lease lasts, or than what is done may wait.</summary>
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

        Assert.Equal(Enough, await WithoutThePoolAsync(Renewals));
    }

    // What handlers like these have done was repeated after a kill, though it was done seconds before.
    [Fact(Timeout = Limit)]
    public async Task Items_NoThreadOfThePoolIsFree_AreAcknowledgedAllTheSame()
    {
        const int items = 64;
        const int done = 40;
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { AcknowledgeInterval = TimeSpan.FromSeconds(2) });
        await queue.EnqueueAsync(Values(items));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using ConcurrentRuntime runtime = new(4);
        using ManualResetEventSlim gate = new();
        using CancellationTokenSource stop = new();
        TaskCompletionSource held = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int begun = 0;
        WorkHost<string> host = new(
            source,
            runtime,
            (_, _) =>
            {
                if (Interlocked.Increment(ref begun) > done)
                {
                    held.TrySetResult();
                    gate.Wait();
                }

                return default;
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters });
        Task run = host.RunAsync(stop.Token);
        await held.Task.WithinAsync("the handlers that hold threads");
        long left;
        try
        {
            // The handlers hold some of the threads already.
            left = await WithoutThePoolAsync(() => Left(items - done), holdsAll: false);
        }
        finally
        {
            gate.Set();
            await stop.CancelAsync();
            await run;
        }

        Assert.Equal(items - done, left);
    }

    // Not on a thread of the pool, of which none comes back meanwhile.
    private static Task<T> WithoutThePoolAsync<T>(Func<T> look, bool holdsAll = true) => Task.Factory.StartNew(
        () => WithoutThePool(look, holdsAll),
        CancellationToken.None,
        TaskCreationOptions.LongRunning | TaskCreationOptions.DenyChildAttach,
        TaskScheduler.Default);

    private static T WithoutThePool<T>(Func<T> look, bool holdsAll)
    {
        ThreadPool.GetMaxThreads(out int most, out int ports);
        ThreadPool.GetMinThreads(out int least, out _);
        TaskCompletionSource gate = new();
        CountdownEvent blocked = new(least);
        try
        {
            Assert.True(ThreadPool.SetMaxThreads(least, ports));
            for (int i = 0; i < least; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(
                    _ =>
                    {
                        blocked.Signal();
                        gate.Task.Wait();
                    },
                    null);
            }

            Assert.True(!holdsAll || blocked.Wait(Patience));
            return look();
        }
        finally
        {
            gate.SetResult();
            ThreadPool.SetMaxThreads(most, ports);
        }
    }

    private int Renewals()
    {
        int count = 0;
        DateTime? before = null;
        Look<DateTime>($"SELECT max(lease_until) FROM {Consumers}", now =>
        {
            count += now > before ? 1 : 0;
            before = now;
            return count >= Enough;
        });
        return count;
    }

    private long Left(long enough)
    {
        long left = -1;
        Look<long>($"SELECT (SELECT count(*) FROM {Items}) + (SELECT coalesce(sum(size), 0) FROM {Packs})", now => (left = now) <= enough);
        return left;
    }

    // Until it is enough, or long enough. As for what is looked at, an answer may wait for the pool; then there is another connection.
    private void Look<T>(string statement, Func<T, bool> isEnough)
    {
        for (long start = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(start) < Patience;)
        {
            try
            {
                using NpgsqlConnection connection = Source.OpenConnection();
                using NpgsqlCommand command = new(statement, connection) { CommandTimeout = 1 };
                while (Stopwatch.GetElapsedTime(start) < Patience)
                {
                    if (isEnough((T)command.ExecuteScalar()!))
                    {
                        return;
                    }
                }
            }
            catch (NpgsqlException)
            {
            }
        }
    }
}
