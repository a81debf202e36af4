namespace Weir.Cli.Workloads.UserCode;

/// <summary>What is measured of a user's assembly: a method, or a class that is a workload.</summary>
/// <param name="Type">The class.</param>
/// <param name="Method">The method; <see langword="null"/> for a class that is a workload.</param>
internal sealed record UserMember(Type Type, MethodInfo? Method)
{
    /// <summary>The full name, as one types it.</summary>
    public string Name => Method is null ? NameOf(Type) : $"{NameOf(Type)}.{Method.Name}";

    /// <summary>Whether there is an object of the class: not for a static method.</summary>
    public bool HasObject => Method is not { IsStatic: true };

    /// <summary>The name of a class as one types it, also of one within another.</summary>
    public static string NameOf(Type type) => (type.FullName ?? type.Name).Replace('+', '.');
}
