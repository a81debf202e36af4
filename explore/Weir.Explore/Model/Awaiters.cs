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

    /// <summary>By the names of the platform's awaiters: those of a value task and of a configured one have the same fields.</summary>
    private static Registrar? Find()
    {
        Type type = typeof(TAwaiter);
        string kind = type.Name.Split('`')[0].Replace("Awaiter", "", StringComparison.Ordinal).Replace("ConfiguredValue", "Value", StringComparison.Ordinal);
        bool hasResult = type.IsGenericType && kind == "ValueTask";
        MethodInfo? method = type.Assembly == typeof(object).Assembly ? typeof(Registrars).GetMethod($"Of{kind}{(hasResult ? "WithResult" : "")}") : null;
        return method?.MakeGenericMethod(hasResult ? [type, type.GetGenericArguments()[0]] : [type]).CreateDelegate<Registrar>();
    }
}
