using System.ComponentModel;
using System.Reflection;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

public class OptionGroupTests
{
    private static readonly Func<int, ValueTask> Nothing = static _ => default;
    private static readonly Func<int, Exception, ValueTask<bool>> GoOn = static (_, _) => new(true);

    [Fact]
    public void HiddenNames_SetOne_AreThoseOfTheGroups()
    {
        Func<Exception, bool> isTransient = static _ => true;
        Func<int, int, Exception, ValueTask> onRetry = static (_, _, _) => default;
        ParallelRunOptions flat = new()
        {
            MaxRetries = 4,
            IsTransient = isTransient,
            BaseDelay = TimeSpan.FromSeconds(3),
            BackoffStrategy = BackoffStrategy.Linear,
            OnStartItemAsync = Nothing,
            OnCompleteItemAsync = Nothing,
            OnErrorAsync = GoOn,
            OnRetryAsync = onRetry,
            OnThrottleAsync = Nothing,
            OnDrainAsync = Nothing,
            ChannelCapacity = 7,
        };
        ParallelRunOptions grouped = new()
        {
            Retry = new() { MaxRetries = 4, IsTransient = isTransient, BaseDelay = TimeSpan.FromSeconds(3), BackoffStrategy = BackoffStrategy.Linear },
            Hooks = new()
            {
                OnStartItemAsync = Nothing, OnCompleteItemAsync = Nothing, OnErrorAsync = GoOn, OnRetryAsync = onRetry, OnThrottleAsync = Nothing,
                OnDrainAsync = Nothing,
            },
            Output = new() { ChannelCapacity = 7 },
        };
        Assert.Equal(grouped, flat);
        Assert.Equal(
            ["BackoffStrategy", "BaseDelay", "ChannelCapacity", "IsTransient", "MaxRetries", "OnCompleteItemAsync", "OnDrainAsync", "OnErrorAsync",
                "OnRetryAsync", "OnStartItemAsync", "OnThrottleAsync"],
            typeof(ParallelRunOptions).GetProperties()
                .Where(static p => p.GetCustomAttribute<EditorBrowsableAttribute>() is not null)
                .Select(static p => p.Name)
                .Order(StringComparer.Ordinal));
        foreach (string name in new[] { "MaxRetries", "BaseDelay", "IsTransient", "BackoffStrategy", "OnErrorAsync", "OnRetryAsync", "ChannelCapacity" })
        {
            PropertyInfo property = typeof(ParallelRunOptions).GetProperty(name)!;
            Assert.Equal(property.GetValue(grouped), property.GetValue(flat));
        }
    }

    [Fact]
    public void HiddenNames_AfterTheirGroup_ChangeIt_AndLeaveTheOptionsTheyAreCopiedFrom()
    {
        ParallelRunOptions options = new() { Retry = new() { MaxDelay = TimeSpan.FromSeconds(9) } };
        ParallelRunOptions fewer = options with { MaxRetries = 1 };
        Assert.Equal(new RetryOptions { MaxRetries = 1, MaxDelay = TimeSpan.FromSeconds(9) }, fewer.Retry);
        Assert.Equal(3, options.MaxRetries);
        Assert.Equal(0, new ParallelRunOptions { BaseDelay = TimeSpan.Zero }.MaxRetries);
        Assert.Equal((0, null), (new ParallelRunOptions().MaxRetries, new ParallelRunOptions().Retry));
    }

    [Fact]
    public void ItemHooks_Set_JoinHooksByIndex_AndOthersReplaceThem()
    {
        ItemHooks<int> items = new() { OnStartItemAsync = static _ => default };
        ParallelRunOptions options = new() { OnStartItemAsync = Nothing, Hooks = items };
        Assert.Equal(new RunHooks { OnStartItemAsync = Nothing, Items = items }, options.Hooks);
        Assert.Equal(new RunHooks { OnErrorAsync = GoOn }, (options with { Hooks = new() { OnErrorAsync = GoOn } }).Hooks);
        Assert.Null((options with { Hooks = null }).Hooks);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Retry_OnRetryAsync_IsCalledAfterTheHooks()
    {
        List<string> told = [];
        int calls = 0;
        List<int> results = await new[] { 5 }.SelectParallelAsync(
            (x, _) => ++calls < 3 ? throw new TimeoutException() : new ValueTask<int>(x),
            new()
            {
                Retry = new()
                {
                    MaxRetries = 2,
                    BaseDelay = TimeSpan.Zero,
                    OnRetryAsync = (attempt, _) => Tell($"retry {attempt}"),
                },
                Hooks = new() { OnRetryAsync = (index, attempt, _) => Tell($"hook {index} {attempt}") },
            }).WithinAsync();
        Assert.Equal([5], results);
        Assert.Equal(["hook 0 1", "retry 1", "hook 0 2", "retry 2"], told);

        ValueTask Tell(string what)
        {
            told.Add(what);
            return default;
        }
    }

    [Fact]
    public void Groups_WrongValues_AreRefusedAtTheCallByName()
    {
        Refused("Output", new() { Output = null! });
        Refused("ShouldRetry", new() { Retry = new() { IsTransient = static _ => true }, ShouldRetry = RetryRule.Of<int>(static _ => true) });
        Refused("Tags", new() { Metrics = new() { Tags = [new("", 1)] } });

        static void Refused(string name, ParallelRunOptions options) => Assert.Equal(
            name,
            Assert.ThrowsAny<ArgumentException>(() => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, options); }).ParamName);
    }
}
