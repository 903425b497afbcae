import { render } from "preact";

const app = document.getElementById("app");
if (app) render(<h1>Administration</h1>, app);
