using FsCheck;
using FsCheck.Fluent;

namespace Weir.Tests.Operators.Properties;

/// <summary>Do the tables of pairs have every pair, and not many more rows than they must?</summary>
public class PairsTests
{
    [Fact]
    public void Rows_AnyColumns_HaveEveryPair() => Prop.ForAll(
        Arb.From(Gen.Choose(1, 7).ArrayOf().Where(static counts => counts.Length is > 1 and < 6)),
        static counts =>
        {
            IReadOnlyList<int[]> rows = Pairs.Rows(counts);
            Assert.All(rows, row => Assert.All(row, (value, column) => Assert.InRange(value, 0, counts[column] - 1)));
            for (int column = 0; column < counts.Length; column++)
            {
                for (int other = column + 1; other < counts.Length; other++)
                {
                    Assert.Equal(counts[column] * counts[other], rows.Select(row => (row[column], row[other])).Distinct().Count());
                }
            }

            Assert.Equal(rows.Select(static row => string.Join(' ', row)), Pairs.Rows(counts).Select(static row => string.Join(' ', row)));
        }).QuickCheckThrowOnFailure();

    [Theory]
    [InlineData(new[] { 7, 8 }, 56)]
    [InlineData(new[] { 7, 8, 3 }, 56)]
    [InlineData(new[] { 8, 6, 4 }, 48)]
    [InlineData(new[] { 7, 3, 10 }, 70)]
    [InlineData(new[] { 3, 3, 2, 2 }, 9)]
    public void Rows_TwoLongestColumns_SayHowMany(int[] counts, int expected) => Assert.Equal(expected, Pairs.Rows(counts).Count);

    [Fact]
    public void Rows_NoPairs_AreRefused()
    {
        Assert.Equal("counts", Assert.Throws<ArgumentOutOfRangeException>(static () => Pairs.Rows(3)).ParamName);
        Assert.Equal("counts", Assert.Throws<ArgumentOutOfRangeException>(static () => Pairs.Rows(3, 0)).ParamName);
    }
}
