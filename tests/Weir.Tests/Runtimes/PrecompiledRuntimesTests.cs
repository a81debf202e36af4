using System.Reflection;
using Weir.Core.Dispatch;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>What keeps the code of runtimes from being compiled ahead of time.</summary>
public sealed class PrecompiledRuntimesTests
{
    private static readonly Assembly Engine = typeof(Pump).Assembly;

    [Fact]
    public void Base_InTheEngine_HasNoProtectedConstructor()
    {
        Type[] bases = [.. typeof(AutoRuntime).Assembly.GetTypes()
            .Select(static type => type.BaseType)
            .OfType<Type>()
            .Where(static type => type.Assembly == Engine && !type.IsGenericType && type.IsNotPublic)
            .Distinct()];
        Assert.Contains(typeof(Executor), bases);
        Assert.All(
            bases.SelectMany(static type => type.GetConstructors(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.DeclaredOnly)),
            static constructor => Assert.False(constructor.IsFamily, $"The constructor of {constructor.DeclaringType} is protected."));
    }
}
