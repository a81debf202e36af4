using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.TestKit;

namespace Weir.Core.Tests.Dispatch;

public class ItemTokensTests
{
    [Fact]
    public void Next_ForEachItem_GivesATokenOfItsOwn()
    {
        ItemTokens tokens = new();
        CancellationTokenSource[] all = [.. Enumerable.Range(0, 200).Select(_ => tokens.Next())];
        all[100].Cancel();
        Assert.Equal(1, all.Count(static source => source.IsCancellationRequested));

        tokens.StopAll(later: false);
        Assert.All(all, static source => Assert.True(source.IsCancellationRequested));
        Assert.True(tokens.Next().IsCancellationRequested);
    }

    [Fact]
    public void Next_AfterTheRunHasStopped_IsCancelledFromTheStart()
    {
        Pump run = MakeRun();
        run.Stop();
        ItemTokens tokens = new();
        run.AddTokens(tokens);
        Assert.True(tokens.Next().IsCancellationRequested);
    }

    [Fact]
    public async Task Add_WhileTheRunStops_StopsThem()
    {
        for (int round = 0; round < 200; round++)
        {
            Pump run = MakeRun();
            ItemTokens[] all = [new(), new(), new()];
            using Barrier barrier = new(2);
            Task adding = Task.Run(() =>
            {
                barrier.SignalAndWait();
                Array.ForEach(all, run.AddTokens);
            });
            barrier.SignalAndWait();
            run.Stop();
            await adding.WithinAsync();
            Assert.All(all, static tokens => Assert.True(tokens.Next().IsCancellationRequested));
        }
    }

    [Fact]
    public void Forget_KeptToken_IsNotCancelledByALaterRun()
    {
        ItemTokens tokens = new();
        CancellationTokenSource[] old = [.. Enumerable.Range(0, 50).Select(_ => tokens.Next())];
        tokens.Forget();
        CancellationTokenSource next = tokens.Next();
        tokens.StopAll(later: false);
        Assert.True(next.IsCancellationRequested);
        Assert.All(old, static source => Assert.False(source.IsCancellationRequested));
    }

    [Fact]
    public void Next_ManyItemsThatKeepNoToken_KeepsNextToNothing()
    {
        ItemTokens tokens = new();
        CancellationToken kept = tokens.Next().Token;
        for (int round = 0; round < 20; round++)
        {
            Make(tokens);
            GC.Collect();
        }

        Make(tokens);
        Assert.InRange(tokens.Blocks, 1, 400);
        tokens.StopAll(later: false);
        Assert.True(kept.IsCancellationRequested);
    }

    [Fact]
    public void Next_OneItem_TakesLittleMoreThanItsSource()
    {
        GC.KeepAlive(new ItemTokens().Next());

        long least = Allocated.Least(static () =>
        {
            for (int i = 0; i < 100; i++)
            {
                GC.KeepAlive(new ItemTokens().Next());
            }
        }, 100 * 160);
        Assert.InRange(least / 100, 1, 160);
    }

    [Fact]
    public async Task Stop_WhileTokensAreMade_CancelsEachOfThem()
    {
        for (int round = 0; round < 200; round++)
        {
            ItemTokens tokens = new();
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
            tokens.StopAll(later: false);
            await making.WithinAsync();
            Assert.All(made, static source => Assert.True(source.IsCancellationRequested));
        }
    }

    private static Pump MakeRun() =>
        new TestRun<int, int>(SourceOf.Enumerable([1]), static (x, _) => new(x), new PumpSettings { Limit = 1, ErrorMode = ErrorMode.FailFast }).Pump;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Make(ItemTokens tokens)
    {
        for (int i = 0; i < 5_000; i++)
        {
            tokens.Next();
        }
    }
}
