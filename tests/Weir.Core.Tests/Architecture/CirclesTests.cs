namespace Weir.Core.Tests.Architecture;

/// <summary>What is read from compiled code: who uses whom, and which of them go round in a circle.</summary>
public class CirclesTests
{
    [Fact]
    public void Of_ArrowsWithTwoCircles_TellsEachOnce()
    {
        List<string[]> circles = Circles.Of([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("x", "y"), ("y", "x"), ("e", "x")]);
        Assert.Equal(2, circles.Count);
        Assert.Equal(["a", "b", "c"], circles[0]);
        Assert.Equal(["x", "y"], circles[1]);
    }

    [Fact]
    public void Of_ArrowsThatGoOneWay_TellsNone() => Assert.Empty(Circles.Of([("a", "b"), ("a", "c"), ("b", "c")]));

    [Fact]
    public void Methods_OfThisAssembly_HaveTheNamesOfTheRuntimeAndTheirFiles()
    {
        using AssemblyUses compiled = new(typeof(CirclesTests).Assembly.Location);
        Assert.Contains(compiled.Methods(), static m =>
            m.Method == "Weir.Core.Tests.Architecture.CirclesTests+Nested`1:Call" && m.Document.EndsWith("CirclesTests.cs", StringComparison.Ordinal));
        Assert.Contains(compiled.Outside(), static use =>
            use.Type == "Weir.TestKit.Circles" && use.User.EndsWith("CirclesTests.cs", StringComparison.Ordinal));
        Assert.Contains(compiled.Types(), static type => type.Type == "Weir.Core.Tests.Architecture.CirclesTests+Nested`1");
        Assert.Equal(3, Nested<int>.Call(3));
    }

    private static class Nested<T>
    {
        public static T Call(T value) => value;
    }
}
