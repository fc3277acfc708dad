import theme from "vitepress/theme-without-fonts";
import "./style.css";

// Paper is white: what is written for a dark ground could not be read there.
if (!import.meta.env.SSR) {
  const { classList } = document.documentElement;
  let isDark = false;
  addEventListener("beforeprint", () => {
    isDark = classList.contains("dark");
    classList.remove("dark");
  });
  addEventListener("afterprint", () => classList.toggle("dark", isDark));
}

export default theme;
