using Weir.Lab.Formatting;

namespace Weir.Cli.Tests.Formatting;

public class NumbersTests
{
    [Theory]
    [InlineData(0, "0")]
    [InlineData(0.0001, "1.0e-4")]
    [InlineData(0.00123, "0.0012")]
    [InlineData(0.0456, "0.046")]
    [InlineData(1.234, "1.23")]
    [InlineData(-12.34, "-12.3")]
    [InlineData(1234.5, "1,234")]
    public void Short_Value_HasAboutThreeDigits(double value, string text) => Assert.Equal(text, Numbers.Short(value));

    [Theory]
    [InlineData(0, "0")]
    [InlineData(0.000123456, "1.235e-4")]
    [InlineData(0.283444, "0.2834")]
    [InlineData(22.2, "22.20")]
    [InlineData(283.44434, "283.4")]
    [InlineData(1234.56, "1,235")]
    [InlineData(12345, "12.3 k")]
    public void Rate_Value_HasAboutFourDigits(double value, string text) => Assert.Equal(text, Numbers.Rate(value));

    [Fact]
    public void Scaled_SeveralValues_AreInTheUnitOfTheFirst()
    {
        Assert.Equal("987 M", Numbers.Scaled(987_000_000));
        Assert.Equal("1.23 G", Numbers.Scaled(1_234_000_000));
        Assert.Equal("12.3 k", Numbers.Scaled(12_345));
        Assert.Equal("5.00", Numbers.Scaled(5));
        Assert.Equal("990..1010 M", Numbers.Scaled(990e6, 1010e6));
    }

    [Fact]
    public void Time_Length_IsInTheUnitThatSuitsIt()
    {
        Assert.Equal("100 ns", Numbers.Time(TimeSpan.FromMicroseconds(0.1)));
        Assert.Equal("10 us", Numbers.Time(TimeSpan.FromMicroseconds(10)));
        Assert.Equal("1.5 ms", Numbers.Time(TimeSpan.FromMilliseconds(1.5)));
        Assert.Equal("2 s", Numbers.Time(TimeSpan.FromSeconds(2)));
    }

    [Fact]
    public void Bytes_Size_IsInTheUnitThatSuitsIt()
    {
        Assert.Equal("32 B", Numbers.Bytes(32));
        Assert.Equal("1.5 KB", Numbers.Bytes(1536));
        Assert.Equal("1 MB", Numbers.Bytes(1024 * 1024));
        Assert.Equal("2 GB", Numbers.Bytes(2.0 * 1024 * 1024 * 1024));
    }
}
