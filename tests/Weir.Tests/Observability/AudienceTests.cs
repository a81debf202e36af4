using System.Reflection;
using System.Reflection.Emit;
using Weir.Observability;
using Weir.TestKit;

namespace Weir.Tests.Observability;

public sealed class AudienceTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly TaskCompletionSource _prepared = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Fact]
    public void IsPossible_AssemblyOfListenersIsThere_IsTrueAtOnce() => Assert.True(Of(typeof(AudienceTests).Assembly.GetName().Name!).IsPossible);

    [Fact]
    public void IsPossible_AssemblyOfListenersComesLater_IsTrueFromThenOn()
    {
        string name = $"Weir.Listeners.{Guid.NewGuid():N}";
        Audience audience = Of(name);
        Assert.False(audience.IsPossible);
        Load(name + ".Other");
        Assert.False(audience.IsPossible);

        Load(name);

        Assert.True(audience.IsPossible);
        Assert.False(_prepared.Task.IsCompleted);
    }

    [Fact(Timeout = 90_000)]
    public async Task IsPossible_NobodyCame_AllIsPreparedAWhileLater()
    {
        Audience audience = Of($"Weir.Listeners.{Guid.NewGuid():N}");
        Assert.False(audience.IsPossible);
        _time.Advance(Audience.Patience - TimeSpan.FromTicks(1));
        Assert.False(audience.IsPossible);

        _time.Advance(TimeSpan.FromTicks(1));

        await _prepared.Task;
        Assert.True(SpinWait.SpinUntil(() => audience.IsPossible, 20_000));
    }

    private static void Load(string name) => AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.Run);

    private Audience Of(string assembly) => new(assembly, _prepared.SetResult, _time);
}
