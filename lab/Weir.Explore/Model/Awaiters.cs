using System.Reflection;

namespace Weir.Explore.Model;

/// <summary>Registers a continuation with an awaiter of the platform, so that it goes on where the platform would let it, on controlled threads.</summary>
internal static class Awaiters<TAwaiter>
{
    public delegate void Registrar(ref TAwaiter awaiter, Action continuation);

    /// <summary>Null for an awaiter that is not the platform's: its own code is rewritten.</summary>
    public static Registrar? Register { get; } = Find();

    /// <summary>The task, or other source of a value task, that is awaited: its first field. Null if it has none, or is not the platform's.</summary>
    public static object? Source(ref TAwaiter awaiter) =>
        Register is null || typeof(TAwaiter) == typeof(YieldAwaitable.YieldAwaiter) ? null : Unsafe.As<TAwaiter, object?>(ref awaiter);

    private static Registrar? Find()
    {
        Type type = typeof(TAwaiter);
        Type definition = type.IsGenericType ? type.GetGenericTypeDefinition() : type;
        string? name = definition == typeof(YieldAwaitable.YieldAwaiter) ? nameof(Registrars.OfYield)
            : definition == typeof(TaskAwaiter) || definition == typeof(TaskAwaiter<>) ? nameof(Registrars.OfTask)
            : definition == typeof(ConfiguredTaskAwaitable.ConfiguredTaskAwaiter) ||
                definition == typeof(ConfiguredTaskAwaitable<>.ConfiguredTaskAwaiter) ? nameof(Registrars.OfConfiguredTask)
            : definition == typeof(ValueTaskAwaiter) ||
                definition == typeof(ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter) ? nameof(Registrars.OfValueTask)
            : definition == typeof(ValueTaskAwaiter<>) ||
                definition == typeof(ConfiguredValueTaskAwaitable<>.ConfiguredValueTaskAwaiter) ? nameof(Registrars.OfValueTaskWithResult)
            : null;
        if (name is null)
        {
            return null;
        }

        MethodInfo method = typeof(Registrars).GetMethod(name)!;
        method = method.MakeGenericMethod(method.GetGenericArguments().Length == 2 ? [type, type.GetGenericArguments()[0]] : [type]);
        return method.CreateDelegate<Registrar>();
    }
}
