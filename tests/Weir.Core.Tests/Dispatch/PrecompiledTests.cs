using System.Reflection;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;

namespace Weir.Core.Tests.Dispatch;

/// <summary>What keeps the code of runs from being compiled ahead of time.</summary>
public sealed class PrecompiledTests
{
    [Theory]
    [InlineData(typeof(ISink<>))]
    [InlineData(typeof(ICall<,>))]
    [InlineData(typeof(IPending<>))]
    public void Member_OfAnInterfaceOfTypeParameters_IsLeftToTheStruct(Type type) =>
        Assert.All(type.GetMethods(BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static), static method =>
        {
            Assert.False(method.IsStatic, $"{method.Name} is static.");
            Assert.True(method.IsAbstract, $"{method.Name} has a body in the interface.");
        });
}
