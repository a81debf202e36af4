using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.TestKit;

namespace Weir.Core.Tests.Dispatch;

public class ItemTokensTests
{
    [Fact]
    public void Next_ForEachItem_GivesATokenOfItsOwn()
    {
        using CancellationTokenSource run = new();
        ItemTokens tokens = new(run.Token);
        CancellationTokenSource[] all = [.. Enumerable.Range(0, 200).Select(_ => tokens.Next())];
        all[100].Cancel();
        Assert.Equal(1, all.Count(static source => source.IsCancellationRequested));

        run.Cancel();
        Assert.All(all, static source => Assert.True(source.IsCancellationRequested));
        Assert.True(tokens.Next().IsCancellationRequested);
    }

    [Fact]
    public void Next_AfterTheRunHasStopped_IsCancelledFromTheStart()
    {
        using CancellationTokenSource run = new();
        run.Cancel();
        Assert.True(new ItemTokens(run.Token).Next().IsCancellationRequested);
    }

    [Fact]
    public void Next_ManyItemsThatKeepNoToken_KeepsNextToNothing()
    {
        using CancellationTokenSource run = new();
        ItemTokens tokens = new(run.Token);
        CancellationToken kept = tokens.Next().Token;
        for (int round = 0; round < 20; round++)
        {
            Make(tokens);
            GC.Collect();
        }

        Make(tokens);
        Assert.InRange(tokens.Blocks, 1, 400);
        run.Cancel();
        Assert.True(kept.IsCancellationRequested);
    }

    [Fact]
    public void Next_OneItem_TakesLittleMoreThanItsSource()
    {
        using CancellationTokenSource run = new();
        GC.KeepAlive(new ItemTokens(run.Token).Next());

        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 100; i++)
        {
            GC.KeepAlive(new ItemTokens(run.Token).Next());
        }

        Assert.InRange((GC.GetAllocatedBytesForCurrentThread() - before) / 100, 1, 300);
    }

    [Fact]
    public async Task Stop_WhileTokensAreMade_CancelsEachOfThem()
    {
        for (int round = 0; round < 200; round++)
        {
            using CancellationTokenSource run = new();
            ItemTokens tokens = new(run.Token);
            List<CancellationTokenSource> made = [];
            using Barrier barrier = new(2);
            Task making = Task.Run(() =>
            {
                barrier.SignalAndWait();
                for (int i = 0; i < 100; i++)
                {
                    made.Add(tokens.Next());
                }
            });
            barrier.SignalAndWait();
            run.Cancel();
            await making.WithinAsync();
            Assert.All(made, static source => Assert.True(source.IsCancellationRequested));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Make(ItemTokens tokens)
    {
        for (int i = 0; i < 5_000; i++)
        {
            tokens.Next();
        }
    }
}
