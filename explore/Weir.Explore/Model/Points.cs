using System.Collections.Concurrent;
using System.Linq.Expressions;

namespace Weir.Explore.Model;

/// <summary>What rewritten code calls before each operation that other threads can see.</summary>
internal static class Points
{
    private static readonly ConcurrentDictionary<Type, bool> IsConcurrent = new();
    private static readonly ConcurrentDictionary<Type, Delegate> Wrappers = new();

    /// <summary>The controlled thread that calls. On another thread, an operation that could wait is refused.</summary>
    public static ControlledThread Me => ControlledThread.Current ?? throw new NotSupportedException(
        "Code under test runs on a thread that the explorer does not control, and calls what could wait. What has called it is not known to the explorer.");

    /// <summary>A point: another thread may run here. The operation itself is that of the platform, in one piece.</summary>
    public static void Step(string site) => ControlledThread.Current?.Step(site);

    /// <summary>A point whose effects are told on their own.</summary>
    public static void StepAlone(string site) => ControlledThread.Current?.Step(site, orders: false);

    /// <summary>A point before a volatile access, where stores are seen late.</summary>
    public static void Access(string site) => ControlledThread.Current?.Access(site);

    /// <summary>A point before a store that is seen at once. What the thread does next with plain fields may be seen after what others do then.</summary>
    public static void Store(string site)
    {
        Step(site);
        ControlledThread.Current?.Stored();
    }

    /// <summary>A point before a store that is seen late.</summary>
    public static void LateStore(string site)
    {
        Access(site);
        ControlledThread.Current?.Stored();
    }

    /// <summary>Before an access to a plain field: a point if it follows a store that others have seen.</summary>
    public static void Plain(string site)
    {
        if (ControlledThread.Current is { HasStored: true } me)
        {
            me.Access(site);
        }
    }

    /// <summary>A point before an atomic operation, where stores are seen late: those of this thread no longer are.</summary>
    public static void Fence(string site)
    {
        if (ControlledThread.Current is { } me)
        {
            me.Access(site);
            me.Execution.Stores?.Flush(me);
        }
    }

    /// <summary>Where a call is, of a method that the platform orders in a way that is not told apart.</summary>
    public static void OrderedSite(string site)
    {
        Site(site);
        Effects.CallPlatform();
    }

    /// <summary>Where the next call of a replaced method is.</summary>
    public static void Site(string site) => ControlledThread.Current?.Site = site;

    /// <summary>
    /// Before a call by an interface: a point if the object is a concurrent collection, or goes through one that others may change meanwhile, which a dictionary's
    /// enumerator alone does.
    /// </summary>
    public static void Collection(object? called)
    {
        if (ControlledThread.Current is { } me && called is not null && IsConcurrent.GetOrAdd(called.GetType(), static t => Bases(t).Any(
            static b => b.Namespace == "System.Collections.Concurrent" && (b.DeclaringType ?? b).Name == (b.IsNested ? "ConcurrentDictionary`2" : b.Name))))
        {
            me.Step();
            Effects.AcquireRelease(called);
        }

        static IEnumerable<Type> Bases(Type? type) => type is null ? [] : Bases(type.BaseType).Prepend(type);
    }

    /// <summary>A delegate that has a point before it calls the one that it is made of, which is of a method of the platform.</summary>
    public static TDelegate Delegate<TDelegate>(TDelegate made, string site)
        where TDelegate : Delegate => ((Func<TDelegate, string, TDelegate>)Wrappers.GetOrAdd(typeof(TDelegate), static type =>
        {
            (ParameterExpression inner, ParameterExpression site) = (Expression.Parameter(type), Expression.Parameter(typeof(string)));
            ParameterExpression[] arguments = [.. type.GetMethod("Invoke")!.GetParameters().Select(static p => Expression.Parameter(p.ParameterType))];
            Expression body = Expression.Block(Expression.Call(((Action<Delegate, string>)Called).Method, inner, site), Expression.Invoke(inner, arguments));
            return Expression.Lambda<Func<TDelegate, string, TDelegate>>(Expression.Lambda<TDelegate>(body, arguments), inner, site).Compile();
        }))(made, site);

    private static void Called(Delegate made, string site)
    {
        Step(site);
        bool isSource = made.Method.DeclaringType!.Name.StartsWith(nameof(TaskCompletionSource), StringComparison.Ordinal);
        Action<object> tell = isSource ? Effects.CompleteSource : Effects.AcquireRelease;
        tell(made.Target ?? made);
    }

    /// <summary>In place of a call of which nothing is known.</summary>
    public static T Refuse<T>(string call, string site)
        where T : allows ref struct => throw new NotSupportedException(
            $"The explorer has no model of {call}: it cannot tell what it waits for, or what other threads see of it. It is called at {site}.");

    /// <summary>Ends the schedule: nobody takes the exception.</summary>
    public static void NobodyTakes(Exception error) =>
        Me.Execution.Fail(FailureKind.UnhandledException, $"An exception that nobody takes: {error.GetType().Name}: {error.Message}", error);
}

/// <summary>
/// The methods of a static class take the place of the members of <paramref name="type"/> with the same name; <c>New</c> that of its constructors. Any other
/// class takes the place of the type itself.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Struct, AllowMultiple = true)]
internal sealed class ReplacesAttribute(string type) : Attribute
{
    public string Type { get; } = type;
}
