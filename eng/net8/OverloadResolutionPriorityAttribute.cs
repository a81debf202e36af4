namespace System.Runtime.CompilerServices;

/// <summary>What compilers since C# 13 know by its name: .NET 8 does not have it.</summary>
[AttributeUsage(AttributeTargets.Method | AttributeTargets.Constructor | AttributeTargets.Property, Inherited = false)]
internal sealed class OverloadResolutionPriorityAttribute(int priority) : Attribute
{
    public int Priority { get; } = priority;
}
