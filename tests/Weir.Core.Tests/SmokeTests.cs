using Weir.Core.Sources;

namespace Weir.Core.Tests;

public class SmokeTests
{
    [Fact]
    public void Array_ReadInPlace_KnowsItsCount() => Assert.Equal(3, SourceOf.Enumerable([1, 2, 3]).KnownCount);
}
