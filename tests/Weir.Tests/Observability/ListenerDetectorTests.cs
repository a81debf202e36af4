using System.Reflection;
using System.Reflection.Emit;
using Weir.Core;
using Weir.Core.Metering;
using Weir.TestKit;

namespace Weir.Tests.Observability;

public sealed class ListenerDetectorTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly TaskCompletionSource _prepared = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Fact]
    public void IsPossible_AssemblyOfListenersIsThere_IsTrueAtOnce() => Assert.True(Of(typeof(ListenerDetectorTests).Assembly.GetName().Name!).IsPossible);

    [Fact]
    public void IsPossible_AssemblyOfListenersComesLater_IsTrueFromThenOn()
    {
        string name = $"Weir.Listeners.{Guid.NewGuid():N}";
        ListenerDetector detector = Of(name);
        Assert.False(detector.IsPossible);
        Load(name + ".Other");
        Assert.False(detector.IsPossible);

        Load(name);

        Assert.True(detector.IsPossible);
        Assert.False(_prepared.Task.IsCompleted);
    }

    [Fact(Timeout = 90_000)]
    public async Task IsPossible_ListenerCameAndNoRunStartsAnyMore_AllIsPreparedNevertheless()
    {
        string name = $"Weir.Listeners.{Guid.NewGuid():N}";
        ListenerDetector detector = Of(name);
        Assert.False(detector.IsPossible);
        Load(name);

        _time.Advance(ListenerDetector.Patience);

        await _prepared.Task;
        Assert.True(detector.IsPossible);
    }

    [Fact(Timeout = 90_000)]
    public async Task IsPossible_NobodyCame_AllIsPreparedAWhileLater()
    {
        ListenerDetector detector = Of($"Weir.Listeners.{Guid.NewGuid():N}");
        Assert.False(detector.IsPossible);
        _time.Advance(ListenerDetector.Patience - TimeSpan.FromTicks(1));
        Assert.False(detector.IsPossible);

        _time.Advance(TimeSpan.FromTicks(1));

        await _prepared.Task;
        await Guard.UntilAsync(() => detector.IsPossible, "that somebody may listen");
    }

#if DEBUG
    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task IsPossible_WhatPreparesFails_IsTrueSoThatTheNextRunTriesAgain(int at)
    {
        ListenerDetector detector = Of($"Weir.Listeners.{Guid.NewGuid():N}");
        using FaultPlaces places = new((_, owner) => owner == detector);
        Assert.False(detector.IsPossible);
        places.FailAt(at);

        _time.Advance(ListenerDetector.Patience);

        await Guard.UntilAsync(() => detector.IsPossible, "that somebody may listen");
        Assert.True(places.HasFailed);
        Assert.False(_prepared.Task.IsCompleted);
    }
#endif

    private static void Load(string name) => AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.Run);

    private ListenerDetector Of(string assembly) => new(assembly, _prepared.SetResult, _time);
}
