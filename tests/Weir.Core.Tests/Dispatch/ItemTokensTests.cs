using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

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
