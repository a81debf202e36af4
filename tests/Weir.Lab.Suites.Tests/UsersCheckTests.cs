using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class UsersCheckTests
{
    [Theory]
    [InlineData(80.1, 0, null, true)]
    [InlineData(79.9, 0, null, false)]
    [InlineData(129.9, 0, null, true)]
    [InlineData(130.1, 0, null, false)]
    [InlineData(100, 1024.4, 1024, true)]
    [InlineData(100, 1024.6, 1024, false)]
    [InlineData(100, 1023.4, 1024, false)]
    public void IsMet_QuartilesFrom90To120_AllowsATenthMoreAndTheKnownBytes(double nanoseconds, double bytes, int? known, bool isMet) =>
        Assert.Equal(isMet, UsersCheck.IsMet((90, 100, 120), nanoseconds, bytes, known));

    [Theory]
    [InlineData(1.1, true)]
    [InlineData(0.9, false)]
    [InlineData(3.2, true)]
    [InlineData(3.4, false)]
    public void IsMet_ShortOperation_AllowsANanosecond(double nanoseconds, bool isMet) =>
        Assert.Equal(isMet, UsersCheck.IsMet((2, 2.1, 2.3), nanoseconds, 0, null));
}
