namespace Weir.PostgreSql.Tests.Changes;

/// <summary>More than 2^31 changes of a transaction, or rows of a table: a place in an identity has only 31 bits.</summary>
public sealed class ManyChangesTests
{
    private const long Part = 1L << 31;

    private static readonly PostgresRelation Orders = new(1, "public", "orders+1", 1, [], null, []);

    [Theory]
    [InlineData(0, "mailer:0/16B3748/0", "mailer:0/16B3748:public.orders+1/0")]
    [InlineData(Part - 1, "mailer:0/16B3748/2147483647", "mailer:0/16B3748:public.orders+1/2147483647")]
    [InlineData(Part, "mailer:0/16B3748+1/0", "mailer:0/16B3748+1:public.orders+1/0")]
    [InlineData((3 * Part) + 7, "mailer:0/16B3748+3/7", "mailer:0/16B3748+3:public.orders+1/7")]
    public void Id_AnyPlace_IsOneOfItsOwnAndCanBeParsed(long index, string ofTransaction, string ofRow)
    {
        foreach ((string expected, string? table) in new[] { (ofTransaction, null), (ofRow, Orders.FullName) })
        {
            PostgresChange change = new(
                new ChangeTransaction(0, 0x16B3748, default, "mailer", table), index, PostgresChangeKind.Truncate, Orders, null, null);
            Assert.Equal(index, change.Index);
            Assert.Equal(expected, change.Id.ToString());
            Assert.Equal(change.Id, WorkId.Parse(expected));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(Part)]
    [InlineData(3 * Part)]
    public void Position_InTheMiddleOfATransaction_IsReadAsItWasWritten(long count)
    {
        ChangePosition position = new(0x16B3700, 0x16B3748, count);
        Assert.Equal($"0/16B3700+0/16B3748:{count}", position.ToString());
        Assert.Equal(position, ChangePosition.Parse(position.ToString(), "mailer"));
    }
}
